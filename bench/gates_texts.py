"""Sentences around what the gates must find, and sentences that hold nothing.

Each kind has two lists. The rules may be changed to find what stands in the first (`train`); the
second (`test`) is only counted. The values come from `gates_values`, new with every seed.
"""
# ruff: noqa: RUF001 - the words of other languages

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import NamedTuple

from bench import gates_values as values


class Sentences(NamedTuple):
    """The sentences of one kind: those the rules were written with, and those they were not."""

    train: tuple[str, ...]
    test: tuple[str, ...]


class Sample(NamedTuple):
    """A text with one value in it, the row it is counted in, and the gate's name for its kind."""

    row: str
    kind: str
    text: str
    value: str


def _lines(train: str, test: str) -> Sentences:
    return Sentences(*(tuple(filter(None, part.split("\n"))) for part in (train, test)))


# `{}` is the value, `{label}` what a national number is called.
SAID: dict[str, Sentences] = {
    "card": _lines(
        """
The charge went to {}.
Refund {} today.
He read out {} on the phone.
card: {}
Payment with {}, expires 04/29.
Please block my card {} as soon as possible.
Charged twice on {} last week, customer is angry.
number on the card is {} (Visa)
Could you move my subscription from {} to the other one?
{} was declined at checkout
We still have {} stored for this customer.
PAN={}
the agent wrote down {} although she must not
Kreditkarte {} wurde belastet.
La tarjeta {} fue rechazada.
Transaction 12 of 40: {} approved
""",
        """
Take it from {} and send a receipt.
customer pays by {} every month
Cancelled: {} (lost by the owner)
His new Mastercard is {}.
cc {} exp 11/27
Bitte {} sperren, sie wurde gestohlen.
Two holds are open on {}.
no. {} was keyed in by hand
""",
    ),
    "phone": _lines(
        """
Call me at {}.
tel: {}
Her number is {} and she prefers mornings.
Reach the customer on {} after 6 pm.
phone={}
He left {} on the answering machine.
Mobile: {}
Ask for Tom, {}, extension unknown.
You can text {} any time.
contact number on file: {}
We rang {} twice, nobody answered.
{} is where she can be found during the day
Telefon: {}
Send the code to {}, not to the e-mail address.
The driver's cell ({}) was off.
Bitte unter {} zurückrufen.
""",
        """
Please phone {} before noon.
WhatsApp {}
The courier can be reached under {}.
Fax {}
Emergency contact: Ann, {}
new mobile no. is {}
Dial {} and ask for billing.
Their office ({}) closes at five.
""",
    ),
    "birth_date": _lines(
        """
DOB: {}
Date of birth: {}
She was born on {}.
born {}, lives in Leeds
Geburtsdatum: {}
Patient, date of birth {}, was admitted.
His birthday is {}.
geboren am {} in Graz
date_of_birth={}
né le {} à Lyon
The customer gave {} as her date of birth.
D.O.B. - {}
birthdate {} on the passport
My date of birth is {}, please update it.
born in Leeds on {}
Fecha de nacimiento: {}
Data di nascita {}
"birthDate": "{}"
Date of Birth (DD/MM/YYYY): {}
He was born {}.
Geb. {}
applicant's DOB is listed as {}
""",
        """
Birth date: {}
The member was born on {} in Hull.
DOB {}
patient's date of birth was {}
date of birth recorded as {}
Birthday: {}
nacida el {}
Geburtstag: {}
nata il {}
dob={}
Data de nascimento: {}
Geboortedatum {}
We verified the caller by date of birth, {}.
""",
    ),
    "address": _lines(
        """
She lives at {}.
Address: {}
Please ship it to {}.
home address is {}
The parcel went to {} by mistake.
Anschrift: {}
They moved to {} in May.
Can you deliver to {} instead?
{} is what we have on file
My new place is {}, same city.
Invoice recipient:
{}
Bill to: {}
He asked us to collect the laptop at {} tomorrow.
Adresse : {}
customer resides at {} since 2019
""",
        """
Our customer at {} got no heating.
Mailing address - {}
Meet the technician at {} on Friday.
Lieferadresse: {}
The contract names {} as residence.
Delivery to {} failed twice.
postal address: {}
Wohnhaft: {}
""",
    ),
    "iban": _lines(
        """
Pay into {}.
Their account is {} now.
Returned from {} twice.
IBAN {}
Please refund to {}, not to the card.
Konto: {}
the transfer from {} bounced
""",
        """
Send it to {} by Friday.
my iban: {}
{} is a business account
Bankverbindung {}
""",
    ),
    "national id": _lines(
        """
His {label} is {}.
{label}: {}
The {label} {} was on the form.
{label} {}
on file: {label} {}
{label} = {}
She gave her {label} ({}).
""",
        """
{label} no. {}
only the {label} ({}) is missing
verified by {label} {}
""",
    ),
    "email": _lines(
        """
Write to {}.
{} asked again.
contact: {}
cc {} please
The reply-to was <{}>.
mailto:{}
is {} still valid?
""",
        """
reach me via {}
{} bounced
user={}&x=1
""",
    ),
    "ip": _lines(
        """
Requests came from {} all night.
client {} timed out
We blocked {} yesterday.
last login: {}
remote={} status=403
""",
        """
Login from {} failed.
source {}, port 443
ping {} gave no answer
""",
    ),
    "secret: assigned": _lines(
        """
password = {}
DB_PASSWORD={}
REDIS_PASS={}
the admin password is {} for now
passwd: {}
mysql -u root --password {}
set the wifi password to {}
DB_PASSWD={}
SMTP_PASS="{}"
export PGPASSWORD={}
login: admin / pw: {}
"dbPassword": "{}",
spring.datasource.password={}
The root password was {} until May.
pass: {}
MYSQL_PWD={} mysqldump main
""",
        """
ADMIN_PASS={}
REDIS_PASSWORD: {}
db.passwd={}
The new password is {}, keep it safe.
{{"user": "app", "password": "{}"}}
passcode: {}
sudo password was reset to {} today
ssh_pass='{}'
$env:DB_PWD = "{}"
""",
    ),
    "secret: token form": _lines(
        """
It calls the API with {}.
token: {}
the key {} leaked
curl -H 'X-Auth: {}' host
{}
found {} in the build log, rotate it
They pasted {} here.
""",
        """
use {} for staging
Authorization: {}
The bot logged {} twice.
TOKEN={}
""",
    ),
    "secret: session": _lines(
        """
sessionid={}
Cookie: sessionid={}
PHPSESSID={}; path=/
session_id: {}
JSESSIONID={}
Set-Cookie: sid={}; HttpOnly
session token is {}
the session key={} was logged
""",
        """
sessionid: {}
Cookie: PHPSESSID={}; theme=dark
ASPSESSIONID={}
session_key = "{}"
the cookie sid={} still works
""",
    ),
    "secret: phrase": _lines(
        """
passphrase: {}
The passphrase is {}.
seed phrase: {}
The recovery phrase is {}.
pass phrase = {}
wallet words: {}
My pass phrase is {}!
backup phrase for the vault: {}
passphrase for the key was {}.
""",
        """
Passphrase = {}
recovery phrase: {}
Her seed phrase was {}.
secret phrase is {}
mnemonic: {}
""",
    ),
    "secret: other languages": _lines(
        """
Das Passwort ist {}
Le mot de passe est {}
La contraseña es {}
A senha é {}
La password è {}
Het wachtwoord is {}
密码是{}
パスワードは{}です
пароль: {}
Das Kennwort lautet {}
Mon mot de passe : {}
Mi contraseña es {}, no la olvides
Hasło to {}
Lösenordet är {}
Salasana on {}
密码为 {}
비밀번호는 {}
Пароль - это {}
Şifre: {}
Mật khẩu là {}
Adgangskoden er {}
Heslo je {}
""",
        """
Passwort: {}
Das neue Passwort lautet {}.
Le mot de passe du wifi est {}
la clave de acceso es {}
Minha senha é {}.
La parola d'ordine è {}
Nieuw wachtwoord: {}
Moje hasło: {}
Mitt lösenord är {}
Passordet er {}
新密码：{}
パスワード：{}
비밀번호: {}
Мой новый пароль: {}
kata sandi adalah {}
""",
    ),
}

_MAKERS: dict[str, values.Make] = {
    "card": values.card,
    "phone": values.phone,
    "birth_date": values.birth_date,
    "address": values.address,
    "iban": values.account,
    "email": values.email,
    "ip": values.ip,
    "secret: assigned": values.password,
    "secret: token form": values.token,
    "secret: session": values.session,
    "secret: phrase": values.phrase,
    "secret: other languages": values.password,
}
_AROUND = ("{}", "{}", "{} - noted on Tuesday", "Note: {}")

CLEAN = _lines(
    """
The refund of {n},{n3}.00 EUR from 2024-03-{d} never arrived.
Order {n4}{n3} was split into {n} parcels and shipped on 2024-0{m}-{d}.
Latency fell from {n3} ms to {n} ms after {n} deploys.
Version {m}.{n}.{m} fixes the timeout that {n} users saw.
The password is required on every login, {n} users forgot it.
Token budget: {n4} for the session, {n4} in all.
In 20{d} Wall Street fell by {n} points.
The company was born in a hackathon of {n} hours.
The birth date column was added on 2024-0{m}-{d}.
Ticket {n4}{n4} was closed after {n} replies.
They called {n} times in 20{d}.
The session id of run {n} is kept for {n} days.
Address the issue in sprint {n}, not {n}.
{n} of {n3} retries succeeded within {n} seconds.
Port {n4} on the load balancer is closed since 0{m}:{d}.
We have {n} stores on Main Street and in the old town.
Passphrases must have {n} words or more.
Item {n}-{n3}-{n3} is packed in boxes of {n}.
The invoice INV-20{d}-{n4} is due in {n} days.
Customers with {n} or more returns are reviewed by hand.
User prefers metric units and answers of at most {n} words.
She has two children and works night shifts since 20{d}.
My favourite number is {n} and I like green tea.
The train leaves at {d}:{d} from platform {m}.
Room {n3} seats {n} people.
Between week {m} and week {n} the queue grew to {n4} items.
Account managers handle {n} accounts each, {n3} in total.
The secret of the team is {n} minutes of review a day.
Batch {n4}-{n4}-{n} was produced on 0{m}/{d}/2024.
GPU memory use is {n}.{n} of {n} GiB.
The card was declined {n} times; the customer gave up.
She turned {n} last week and wants a birthday discount.
Rows {n4} to {n4}{m} were migrated in {n} s.
The phone rang {n} times before {d}:{d}.
The delivery address field allows {n3} characters.
Rule {n4} replaces rule {n4} since May 20{d}.
The API key rotates every {n} days, the password every {n3}.
Chapter {n}.{m} says that tokens expire after {n4} seconds.
{n4} units at {n}.{d} each make {n4}{n}.{d}.
The hotline is open {m} days a week, {n} hours a day.
Model {n4} weighs {n}.{m} kg and costs {n3} dollars.
The recovery phrase is stored in the safe on floor {n}.
His team was born out of {n} people in 20{d}.
Session {n} of {n3} ended early.
I moved to the second floor on 0{m}.{d}.2023.
The cookie banner is shown to {n}% of visitors.
I live in a town of {n4} people and own {m} cats.
My meeting with legal is on {d} May at {d}:{d}.
Flight LH {n4} lands at {d}:{d} in Terminal {m}.
The new street lights cost {n4} per kilometre.
""",
    """
The warehouse moved {n4} pallets in {n} hours on 2023-0{m}-{d}.
Passwords expire after {n} days, tokens after {n} minutes.
She runs {m} km every morning and wants a plan for {n} weeks.
Error {n4} came back {n} times between {d}:{d} and {d}:{d}.
The board met on {d} March 20{d} and approved {n} items.
Shipment {n4}-{n4} weighs {n} kg.
PIN pads were replaced in {n} shops.
Call the function {n} times before you give up.
He grew up on a farm with {n} cows near the sea.
The secret ingredient costs {m}.{n} EUR per {n3} g.
Key figure {n}: {n3} orders per day.
About {n4} people live on that road.
Table {m}.{n} lists {n4} postcodes.
Since 20{d} the Avenue Hotel has {n3} rooms.
Our phone plan has {n} GB and costs {n} a month.
ISBN 978-{m}-{n}-{n4}{d}-{m} is out of print.
The user's dog was born last spring and weighs {n} kg.
Cookie size is limited to {n4} bytes.
The session lasted {n} minutes and {n} seconds.
Street parking costs {m}.{d} per hour after {d}:00.
Bus {n} stops at the corner every {n} minutes.
The score was {n}-{n}, later {n}-{n} and {n}-{n}.
Backup {n4}{d}{d}_{n4} holds {n} tables.
Invoice address and delivery address differ in {n} cases.
The word count of chapter {m} is {n4}.
""",
)


def samples(seed: int, count: int, which: str) -> Iterable[Sample]:
    """Texts with one value each, `count` for every row."""
    chance = random.Random(f"{seed} {which}")  # noqa: S311 - repeatable, not secret
    for row, make in _MAKERS.items():
        said = getattr(SAID[row], which)
        kind = row.partition(":")[0]
        for number in range(count):
            value = make(chance)
            text = said[number % len(said)].format(value)
            yield Sample(row, kind, chance.choice(_AROUND).format(text), value)
    said = getattr(SAID["national id"], which)
    for label, make in values.NATIONAL.items():
        for number in range(count):
            value = make(chance)
            text = said[number % len(said)].replace("{label}", label).replace("{}", value)
            yield Sample(label, "national_id", text, value)


def clean(seed: int, count: int, which: str) -> Iterable[str]:
    """Sentences with numbers and with the words of secrets, but nothing to find."""
    chance = random.Random(f"{seed} clean {which}")  # noqa: S311 - repeatable, not secret
    said = getattr(CLEAN, which)
    for number in range(count):
        text = said[number % len(said)]
        for mark, low, high in (("{n4}", 1000, 9999), ("{n3}", 100, 999), ("{n}", 2, 99),
                                ("{m}", 1, 9), ("{d}", 10, 28)):  # fmt: skip
            while mark in text:
                text = text.replace(mark, str(chance.randrange(low, high)), 1)
        yield text
