"""What the gates must take and what they must leave, written for these tests.

Every number is made up or a published test number. Tokens are put together from parts, so that
no scanner of this repository takes them for real ones.
"""
# ruff: noqa: RUF001 - characters that look like others are what half of this is about

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """A note with something in it that must not pass: all of `removed`, as one of `kind`."""

    kind: str
    text: str
    removed: str


def _t(*parts: str) -> str:
    return "".join(parts)


HEX32 = "9f86d081884c7d65" + "9a2feaa0c55ad015"
B62 = "q7Zt3KpLw9XcVb2NmRf5" + "Hd8JsGy4TaEuQ6WoYz1B"
JWT = ".".join(
    (
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
        "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkphbmUifQ",
        "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    )
)
AWS_ID = _t("AKIA", "IOSFODNN7EXAMPLE")
AWS_SECRET = _t("wJalrXUtnFEMI/K7MDENG", "/bPxRfiCYEXAMPLEKEY")
GITHUB = _t("ghp", "_", B62[:36])
GITHUB_PAT = _t("github", "_pat_", B62[:22], "_", B62)
GITLAB = _t("glpat", "-", B62[:20])
SLACK = _t("xoxb", "-123456789012-1234567890123-", B62[:24])
SLACK_HOOK = _t("https://hooks.slack.com", "/services/T00000000/B00000000/", B62[:24])
STRIPE = _t("sk", "_live_", B62[:24])
STRIPE_TEST = _t("sk", "_test_", B62[:24])
TWILIO = _t("SK", HEX32)
TWILIO_SID = _t("AC", HEX32)
OPENAI = _t("sk", "-", B62[:20], "T3Blbk", "FJ", B62[20:40])
OPENAI_PROJECT = _t("sk", "-proj-", B62, "_", B62[:12])
ANTHROPIC = _t("sk", "-ant-api03-", B62, "-", B62[:20], "AA")
NPM = _t("npm", "_", B62[:36])
PYPI = _t("pypi", "-AgEIcHlwaS5vcmc", B62, B62)
SENDGRID = _t("SG", ".", B62[:22], ".", B62, "abc")
TELEGRAM = _t("110201543", ":", "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw7"[:35])
GOOGLE = _t("AIza", "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY")
AZURE_KEY = _t(B62, B62, "abcdef", "==")
DISCORD = _t("MTk4NjIyNDgzNDcxOTI1MjQ4", ".Cl2FMQ.", "ZnCjm1XVW7vRze4b7Cq4se7kKWs")
VAULT = _t("hvs", ".", B62[:30])
DOCKER = _t("dckr", "_pat_", B62[:27])
HUGGING = _t("hf", "_", "QwErTyUiOpAsDfGhJkLzXcVbNmQwErTyUi")
SHOPIFY = _t("shpat", "_", HEX32)
SQUARE = _t("sq0csp", "-", B62, "abc")
PEM_BODY = "MIIEpAIBAAKCAQEA7bq0h0\nW8q7Zt3KpLw9XcVb2NmRf5Hd8JsGy4Ta\nEuQ6WoYz1B0pQ=="
PEM = f"-----BEGIN RSA PRIVATE {'KEY'}-----\n{PEM_BODY}\n-----END RSA PRIVATE {'KEY'}-----"
OPENSSH = PEM.replace("RSA", "OPENSSH")
PKCS8 = PEM.replace("RSA ", "ENCRYPTED ")
PGP = (
    f"-----BEGIN PGP PRIVATE {'KEY'} BLOCK-----\nVersion: 2\n\nlQOYBF2\n=abcd\n"
    f"-----END PGP PRIVATE {'KEY'} BLOCK-----"
)
CUT_PEM = PEM.partition("\n-----END")[0]
PUTTY = "PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\nAAABAQ\nPrivate-MAC: 0a1b2c3d"
RANDOM_KEY = "x7Gh2kLmQ9vRt4WzYb8NcPdFsE3uJaHo6KiT1B5C"

SECRETS = (
    Case("secret", f"The job used {AWS_ID} in staging.", AWS_ID),
    Case("secret", f'aws_secret_key = "{AWS_SECRET}"', AWS_SECRET),
    Case("secret", f"The secret half is {AWS_SECRET} it seems.", AWS_SECRET),
    Case("secret", f"Push works with {GITHUB} now.", GITHUB),
    Case("secret", f"A fine-grained token {GITHUB_PAT} was pasted.", GITHUB_PAT),
    Case("secret", f"CI authenticates as {GITLAB}.", GITLAB),
    Case("secret", f"Slack posts with {SLACK} from the cron job.", SLACK),
    Case("secret", f"The webhook is {SLACK_HOOK} for alerts.", B62[:24]),
    Case("secret", f"Charges fail with {STRIPE}, refunds do not.", STRIPE),
    Case("secret", f"In test mode {STRIPE_TEST} is used.", STRIPE_TEST),
    Case("secret", f"Twilio key {TWILIO} was rotated.", TWILIO),
    Case("secret", f"The account {TWILIO_SID} sends the texts.", TWILIO_SID),
    Case("secret", f"Completion calls used {OPENAI} until May.", OPENAI),
    Case("secret", f"The project has {OPENAI_PROJECT} in its config.", OPENAI_PROJECT),
    Case("secret", f"It calls the model with {ANTHROPIC}.", ANTHROPIC),
    Case("secret", f"//packages.example/:_authToken={NPM}", NPM),
    Case("secret", f"Publishing needs {NPM} in the environment.", NPM),
    Case("secret", f"twine reads {PYPI} from the keyring", PYPI),
    Case("secret", f"Mails go out with {SENDGRID} every night.", SENDGRID),
    Case("secret", f"The bot is {TELEGRAM} on Telegram.", TELEGRAM),
    Case("secret", f"Maps are loaded with {GOOGLE} in the browser.", GOOGLE),
    Case("secret", f"AccountName=prod;AccountKey={AZURE_KEY}", AZURE_KEY),
    Case("secret", f"The Discord bot logs in as {DISCORD} each hour.", DISCORD),
    Case("secret", f"Vault gave {VAULT} for one hour.", VAULT),
    Case("secret", f"docker login -p {DOCKER}", DOCKER),
    Case("secret", f"Models are pulled with {HUGGING} from the hub.", HUGGING),
    Case("secret", f"The shop's admin token {SHOPIFY} leaked.", SHOPIFY),
    Case("secret", f"Square's {SQUARE} is in the note.", SQUARE),
    Case("secret", f"The session cookie held {JWT} and expired.", JWT),
    Case("secret", f"Authorization: Bearer {JWT}", JWT),
    Case("secret", "Authorization: Bearer mF_9.B5f-4.1JqM0aX2kP7", "mF_9.B5f-4.1JqM0aX2kP7"),
    Case("secret", "Authorization: Basic YWRtaW46aHVudGVyMg==", "YWRtaW46aHVudGVyMg=="),
    Case("secret", "dsn is postgres://app:S3cr3tPw@db.internal:5432/main", "S3cr3tPw"),
    Case("secret", "curl https://jane:hunter22@api.example.com/v1", "hunter22"),
    Case("secret", f"The key was\n{PEM}\nand it worked.", PEM_BODY),
    Case("secret", f"{OPENSSH}", PEM_BODY),
    Case("secret", f"see {PKCS8} here", PEM_BODY),
    Case("secret", f"{PGP}\nThat is all.", "lQOYBF2"),
    Case("secret", f"cut off: {CUT_PEM}", PEM_BODY),
    Case("secret", f"ppk file:\n{PUTTY}\ndone", "AAABAQ"),
    Case("secret", "password = hunter2", "hunter2"),
    Case("secret", "The db_password: 'correct horse battery'", "correct horse battery"),
    Case("secret", 'config["api_key"] = "d41d8cd98f00b204"', "d41d8cd98f00b204"),
    Case("secret", '{"client_secret": "abCD1234efGH"}', "abCD1234efGH"),
    Case("secret", "PGPASSWORD=letmein psql -h db", "letmein"),
    Case("secret", "The admin password is Tr0ub4dor&3 for now.", "Tr0ub4dor&3"),
    Case("secret", "password: 12345678", "12345678"),
    Case("secret", "Das Passwort: Sommer2024!", "Sommer2024!"),
    Case("secret", "Le mot de passe: Soleil#99", "Soleil#99"),
    Case("secret", "La contraseña es Abc12345", "Abc12345"),
    Case("secret", "密码：abc12345", "abc12345"),
    Case("secret", "パスワード: sakura2024", "sakura2024"),
    Case("secret", "pass\u200bword = hun\u200bter2", "hun\u200bter2"),
    Case("secret", "mysql --password s3cr3t -e 'select 1'", "s3cr3t"),
    Case("secret", "curl -u admin:hunter2 host", "hunter2"),
    Case("secret", f"access token: {HEX32}", HEX32),
    Case("secret", f"signing key {HEX32} is old", HEX32),
    Case("secret", f"It returned {RANDOM_KEY} as the value.", RANDOM_KEY),
    Case("secret", f"The value '{RANDOM_KEY}' was logged.", RANDOM_KEY),
    Case("secret", "auth_token=7c4a8d09ca3762af61e5", "7c4a8d09ca3762af61e5"),
    Case("secret", "The user said his pw is hunter2!", "hunter2"),
    Case("secret", "DB_PASSWORD=changeme", "changeme"),
    Case("secret", "login admin, passwd: qwerty", "qwerty"),
    Case("secret", "the wifi password is 'sunshine'", "sunshine"),
    Case("secret", "redis://:s3cr3t@cache:6379/0", "s3cr3t"),
    Case("secret", "postgres://u:p@ss!word@host/db", "p@ss!word"),
    Case("secret", "X-Api-Key: 7f3b9c2e1d", "7f3b9c2e1d"),
    Case("secret", "Authorization: token 0123456789abcdef0123", "0123456789abcdef0123"),
    Case("secret", f"export AWS_SECRET_ACCESS_KEY={AWS_SECRET}", AWS_SECRET),
    Case("secret", 'passphrase: "open sesame"', "open sesame"),
    Case("secret", "the PIN is 4821 on this card", "4821"),
    Case("secret", "the password was changed to Winter2024", "Winter2024"),
    Case("secret", "`password`: `hunter2`", "hunter2"),
    Case("secret", "password -> hunter2", "hunter2"),
    Case("secret", "client secret = 'Zx9-kk_33'", "Zx9-kk_33"),
    Case("secret", "password: $ecret123", "$ecret123"),
)

PII = (
    # e-mail
    Case("email", "Write to jane.doe@example.com about it.", "jane.doe@example.com"),
    Case("email", "JANE+news@Mail.Example.CO.UK subscribed", "JANE+news@Mail.Example.CO.UK"),
    Case("email", "<o'neil_99@example.org> bounced", "neil_99@example.org"),
    Case("email", "jörg.müller@example.de asked twice", "jörg.müller@example.de"),
    Case("email", "联系邮箱jane@example.cn谢谢", "jane@example.cn"),
    Case("email", "jane\u200b.doe@exam\u200bple.com replied", "doe@exam\u200bple.com"),
    Case("email", "ｊａｎｅ＠ｅｘａｍｐｌｅ．ｃｏｍ wrote", "ｊａｎｅ＠ｅｘａｍｐｌｅ．ｃｏｍ"),
    Case("email", "jane (at) example (dot) com is hers", "jane (at) example"),
    Case("email", "mail john[at]example.org today", "john[at]example.org"),
    Case("email", "mailto:sales@example.io?subject=x", "sales@example.io"),
    # accounts
    Case("iban", "Pay to DE89 3704 0044 0532 0130 00 by Friday.", "DE89 3704 0044 0532 0130 00"),
    Case("iban", "GB29NWBK60161331926819 was debited", "GB29NWBK60161331926819"),
    Case(
        "iban", "from FR14 2004 1010 0505 0001 3M02 606 again", "FR14 2004 1010 0505 0001 3M02 606"
    ),
    Case("iban", "nl91abna0417164300 in small letters", "nl91abna0417164300"),
    Case("iban", "ES91-2100-0418-4502-0005-1332", "ES91-2100-0418-4502-0005-1332"),
    Case("iban", "IT60 X054 2811 1010 0000 0123 456", "IT60 X054 2811 1010 0000 0123 456"),
    Case("iban", "CH93\u00a00076\u00a02011\u00a06238\u00a05295\u00a07 is theirs", "0076\u00a02011"),
    Case("iban", "iban: BE68.5390.0754.7034.", "BE68.5390.0754.7034"),
    Case("iban", "DE89\u200b37040044\u200b0532013000", "37040044"),
    Case("iban", "AB12 test DE89 3704 0044 0532 0130 00", "3704 0044 0532 0130 00"),
    # cards
    Case("card", "Visa 4111 1111 1111 1111 was declined", "4111 1111 1111 1111"),
    Case("card", "card 4012888888881881 expired", "4012888888881881"),
    Case("card", "5555-5555-5555-4444 is on file", "5555-5555-5555-4444"),
    Case("card", "amex 3782 822463 10005 works", "3782 822463 10005"),
    Case("card", "6011.1111.1111.1117 (discover)", "6011.1111.1111.1117"),
    Case("card", "3530 1113 3330 0000 from Japan", "3530 1113 3330 0000"),
    Case("card", "Diners 30569309025904 was used", "30569309025904"),
    Case("card", "2223003122003222 since 2017", "2223003122003222"),
    Case("card", "4111-1111 1111.1111, mixed", "4111-1111 1111.1111"),
    Case("card", "4111\u200b1111\u200b1111\u200b1111 hidden", "1111\u200b1111"),
    Case("card", "４１１１ １１１１ １１１１ １１１１ wide", "４１１１ １１１１"),
    Case("card", "٤١١١١١١١١١١١١١١١ in Arabic digits", "٤١١١١١١١"),
    Case("card", "in 2024 4111 1111 1111 1111 failed", "4111 1111 1111 1111"),
    Case("card", "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 spelt out", "4 1 1 1 1"),
    Case("card", "卡号4111111111111111已过期", "4111111111111111"),
    # persons of states
    Case("national_id", "SSN 536-90-4399 on the form", "536-90-4399"),
    Case("national_id", "her social security number is 536904399", "536904399"),
    Case("national_id", "NHS number 943 476 5919 was read out", "943 476 5919"),
    Case("national_id", "nhs: 9434765919", "9434765919"),
    Case("national_id", "NINO AB 12 34 56 C on the payslip", "AB 12 34 56 C"),
    Case("national_id", "he gave JG103759A", "JG103759A"),
    Case("national_id", "IdNr 36 574 261 809 from the letter", "36 574 261 809"),
    Case("national_id", "the tax id is 36574261809", "36574261809"),
    Case("national_id", "Steuernummer 181/815/08155 aus Bayern", "181/815/08155"),
    Case("national_id", "NIR 2 95 10 99 126 111 93 in the file", "2 95 10 99 126 111 93"),
    Case("national_id", "assurée 295109912611193", "295109912611193"),
    Case("national_id", "DNI 54362315K", "54362315K"),
    Case("national_id", "su DNI: 54.362.315-K", "54.362.315-K"),
    Case("national_id", "NIE X-2482300-W renewed", "X-2482300-W"),
    Case("national_id", "BSN 111222333 staat erop", "111222333"),
    Case("national_id", "burgerservicenummer: 1112.22.333", "1112.22.333"),
    Case("national_id", "codice fiscale RCCMNL83S18D969H", "RCCMNL83S18D969H"),
    Case("national_id", "cf rccmnl83s18d969h in minuscolo", "rccmnl83s18d969h"),
    Case("national_id", "PESEL 44051401359 w umowie", "44051401359"),
    Case("national_id", "personnummer 880320-0016 uppgavs", "880320-0016"),
    Case("national_id", "pnr: 198803200016", "198803200016"),
    Case("national_id", "Aadhaar 2341 2341 2346 was scanned", "2341 2341 2346"),
    Case("national_id", "aadhaar no. 234123412346", "234123412346"),
    Case("national_id", "CPF 390.533.447-05 do cliente", "390.533.447-05"),
    Case("national_id", "cpf: 39053344705", "39053344705"),
    Case("national_id", "hetu 131052-308T on the card", "131052-308T"),
    Case("national_id", "AHV 756.9217.0769.85 stimmt", "756.9217.0769.85"),
    Case("national_id", "rijksregisternummer 85.07.30-033.28", "85.07.30-033.28"),
    Case("national_id", "SIN 123 456 782 in Canada", "123 456 782"),
    Case("national_id", "SSN 536\u200b-90-\u200b4399", "4399"),
    # telephone
    Case("phone", "call +49 30 901820 before noon", "+49 30 901820"),
    Case("phone", "her number is +1 (415) 555-2671", "(415) 555-2671"),
    Case("phone", "+44 20 7946 0958 rings out", "+44 20 7946 0958"),
    Case("phone", "tel:+12124567890", "+12124567890"),
    Case("phone", "(415) 555-2671 after six", "(415) 555-2671"),
    Case("phone", "reach him at 212-456-7890", "212-456-7890"),
    Case("phone", "020 7946 0958 is the London desk", "020 7946 0958"),
    Case("phone", "Sie ist unter 030 901820 erreichbar", "030 901820"),
    Case("phone", "Mobil: 0171 1234567", "0171 1234567"),
    Case("phone", "phone 4155552671 was wrong", "4155552671"),
    Case("phone", "Tél. : 01 42 68 53 00", "01 42 68 53 00"),
    Case("phone", "电话：138 0013 8000", "138 0013 8000"),
    Case("phone", "+49\u00a0(0)30/901-820 mixed", "901-820"),
    Case("phone", "＋４４ ２０ ７９４６ ０９５８ wide", "７９４６"),
    Case("phone", "WhatsApp +55 11 96123-4567", "96123-4567"),
    # network
    Case("ip", "requests came from 203.0.113.77 all night", "203.0.113.77"),
    Case("ip", "client 10.20.30.40 timed out", "10.20.30.40"),
    Case("ip", "from 198.51.100.7:8443 again", "198.51.100.7"),
    Case("ip", "2001:db8:85a3::8a2e:370:7334 was blocked", "2001:db8:85a3::8a2e:370:7334"),
    Case("ip", "fe80::1ff:fe23:4567:890a answered", "fe80::1ff:fe23:4567:890a"),
    Case("ip", "host ::ffff:192.0.2.128 mapped", "192.0.2.128"),
    Case("ip", "１９２．０．２．１ in wide digits", "１９２．０．２．１"),
    # labelled
    Case("birth_date", "DOB: 1985-07-30", "1985-07-30"),
    Case("birth_date", "date of birth is 30/07/1985", "30/07/1985"),
    Case("birth_date", "she was born on July 30, 1985 in Graz", "July 30, 1985"),
    Case("birth_date", "geboren am 30.07.1985 in Graz", "30.07.1985"),
    Case("birth_date", "Geburtsdatum 30. Juli 1985", "30. Juli 1985"),
    Case("birth_date", "né le 30/07/1985 à Lyon", "30/07/1985"),
    Case("birth_date", "fecha de nacimiento: 30-07-1985", "30-07-1985"),
    Case("birth_date", "生年月日：1985年7月30日", "1985年7月30日"),
    Case("address", "home address: 221B Baker Street, London NW1 6XE", "221B Baker Street"),
    Case("address", "Address: 1600 Amphitheatre Pkwy, Mountain View, CA 94043", "Mountain View"),
    Case("address", "she lives at 12 High Street, Leeds and works nights", "12 High Street, Leeds"),
    Case("address", "Anschrift: Hauptstraße 5, 10115 Berlin", "Hauptstraße 5, 10115 Berlin"),
    Case("address", "adresse : 12 rue de la Paix, 75002 Paris", "12 rue de la Paix, 75002 Paris"),
    Case("address", "billing address is P.O. Box 1234, Springfield", "Box 1234"),
    Case("email", "redirect=jane%40example.com&x=1", "jane%40example.com"),
    Case("card", "4242424242424242, exp 12/26", "4242424242424242"),
    Case("national_id", "SSN is 123 45 6789", "123 45 6789"),
    Case("national_id", "Aadhaar: 2341-2341-2346", "2341-2341-2346"),
    Case("phone", "her number 07911 123456", "07911 123456"),
    Case("phone", "1-800-356-9377 for orders", "800-356-9377"),
    Case("phone", "+33 6 12 34 56 78", "12 34 56 78"),
    Case("phone", "tel 555-0199", "555-0199"),
    Case("phone", "(030) 901820 in Berlin", "(030) 901820"),
    Case("ip", "[2001:db8::1]:443 refused", "2001:db8::1"),
    Case("birth_date", "D.O.B. 12-05-85", "12-05-85"),
    Case("address", "Wohnt in Musterstraße 12, 12345 Berlin", "Musterstraße 12, 12345 Berlin"),
    Case("address", "address: Calle Mayor 10, 28013 Madrid", "Calle Mayor 10, 28013 Madrid"),
    Case("address", "shipping address: 4 Elm Rd., Salem, MA 01970", "4 Elm Rd"),
)

# What a pattern must lose before it leaves its deployment.
IDENTIFIERS = (
    Case(
        "uuid",
        "Order flow failed twice for 123e4567-e89b-12d3-a456-426614174000 after retry",
        "123e4567",
    ),
    Case(
        "uuid",
        "Row 12345678-1234-1234-1234-123456789012 was locked during every nightly job",
        "123456789012",
    ),
    Case(
        "url",
        "Retries against https://api.acme.example/v2/orders?id=7 hide real timeouts often",
        "acme",
    ),
    Case(
        "url", "Uploads to s3://acme-prod/exports/2024/x.csv fail when files get large", "acme-prod"
    ),
    Case(
        "hostname",
        "Connections through db-01.prod.internal drop after long idle periods",
        "db-01.prod.internal",
    ),
    Case(
        "hostname",
        "Mail from smtp.example.com is delayed whenever queues grow quickly",
        "smtp.example.com",
    ),
    Case(
        "hostname",
        "Deploying to web-prod-03 first makes later rollouts fail more often",
        "web-prod-03",
    ),
    Case(
        "hostname",
        "Traffic on ip-10-0-3-17 doubles whenever batch imports start late",
        "ip-10-0-3-17",
    ),
    Case(
        "path",
        "Writes below /var/lib/acme/data stall once disk usage grows quickly",
        "/var/lib/acme/data",
    ),
    Case(
        "path",
        "Exports saved in C:\\Users\\jane\\exports vanish after nightly cleanup jobs",
        "jane",
    ),
    Case(
        "path",
        "Tests in services/acme/billing.py break whenever rounding rules change",
        "services/acme/billing.py",
    ),
    Case(
        "account",
        "Refund for ORD-12345 needed manual approval because limits were exceeded",
        "ORD-12345",
    ),
    Case(
        "account", "Ticket SUP-889 shows that resets follow expired sessions quite often", "SUP-889"
    ),
    Case(
        "account",
        "Charges on acct_1NffrFeUfNV2Hib fail when currencies differ between ledgers",
        "acct_1NffrFeUfNV2Hib",
    ),
    Case(
        "account", "Orders like order #4711 stay open after partial delivery is confirmed", "4711"
    ),
    Case(
        "account", "Invoice no. 778812 was paid twice because reminders crossed payments", "778812"
    ),
    Case(
        "account",
        "For customer 100200 discounts were applied twice during weekend campaigns",
        "100200",
    ),
    Case("account", "See #90210 where approvals were skipped under heavy load conditions", "90210"),
    Case("account", "Case number: 5521 shows fraud rules misfiring during holiday peaks", "5521"),
    Case(
        "account",
        "Record 01ARZ3NDEKTSV4RRFFQ69G5FAV was replayed although marked as complete",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    ),
    Case(
        "number",
        "Sequence 982374650123 had duplicates because clocks drifted between regions",
        "982374650123",
    ),
    Case(
        "number", "Item 83920174 is returned mostly because size charts mislead buyers", "83920174"
    ),
    Case(
        "hex",
        "Commit 9fceb02d0ae598e95dc970b74767f19372d61af8 slowed every search query down",
        "9fceb02d",
    ),
    Case("hex", "Build 3f2a9c1 introduced timeouts when caches were cold overnight", "3f2a9c1"),
    Case(
        "hex",
        "Device 00:1a:2b:3c:4d:5e reconnects constantly when signal strength drops",
        "00:1a:2b",
    ),
    Case(
        "email",
        "Approvals by jane@acme.example come late whenever quarters close",
        "jane@acme.example",
    ),
    Case(
        "ip", "Requests from 203.0.113.77 are throttled although limits allow more", "203.0.113.77"
    ),
)

# Notes that must pass as they are.
BENIGN = (
    # prose with numbers
    "The refund of 1,250.00 EUR from 2024-03-01 never arrived.",
    "Orders rose from 12,000 to 15,400 between 2019 and 2023.",
    "Three of four refunds took more than 10 days, so the pattern holds.",
    "The limit was raised from $10,000 to $25,000.00 per transaction.",
    "Revenue was 1.250.000,50 EUR in the first quarter of 2024.",
    "Le chiffre d'affaires était de 1 250 000 euros en 2023.",
    "About 7 800 000 000 people live on the planet.",
    "The batch had 1000000 rows and took 45 minutes 12 seconds.",
    "Latency fell from 350 ms to 120 ms at p99 after 3 deploys.",
    "The meeting is on 12/05/2024 at 14:30, room 4.12.",
    "From 2024-03-01 to 2024-03-31 there were 1,204 tickets.",
    "Opening hours: 08:00-17:30, Saturdays 09:00-12:00.",
    "It happened at 2024-03-01T12:30:45.123Z in the nightly job.",
    "Timestamps such as 1700000000 and 1700000000000 are in UTC.",
    "The backup is called 20240301_123000 and holds 14 tables.",
    "Log rotated on 20240301-1230 with 52 files.",
    "Version 3.2.1 of rule R-1201 applies since 2023.",
    "Upgraded to version 10.0.19041.1 on Tuesday.",
    "Driver version 1.2.3.4 fixes the timeout.",
    "See section 3.4.1.2 of the handbook.",
    "Rules 1201, 1202 and 1207 conflict on weekends.",
    "Rule PAY-1201 supersedes PAY-1107 since May.",
    "The customer placed order 4711 and order 4712.",
    "Ticket 100234567 was closed after 3 replies.",
    "Order number 4000123456 is split in two parcels.",
    "Invoice 2024-000123 was paid in 14 days.",
    "SKU 555-1234 is out of stock until week 32.",
    "Item 12-345-678 is packed in boxes of 24.",
    "Part number 4711-0815-42 fits model 300.",
    "Tracking 1Z999AA10123456784 shows no movement.",
    "ISBN 978-3-16-148410-0 is quoted as the source.",
    "The score was 4.5 of 5 from 12,345 ratings.",
    "pi is 3.141592653589793 and e is 2.718281828459045.",
    "The ratio was 0.4111111111111111 before rounding.",
    "Coordinates 52.520008, 13.404954 are in Berlin.",
    "Coordinates -0.127758 51.507351 were used for the map.",
    "Counts per day: 120 130 145 150 160 155 149.",
    "Weights 0.25 0.50 0.75 1.00 were tried in this order.",
    "The matrix is 1024 x 768 and 8 bits deep.",
    "Prices: 19.99, 24.99, 29.99 and 1,299.00.",
    "He scored 100 200 and 300 points in three games.",
    "Ports 8080, 8443 and 5432 must be open.",
    "The vote was 5-4, later 7-2.",
    "Call volume doubled: 1200 in May, 2400 in June.",
    "They called 3 times in 2024 and 12 times in 2023.",
    "The hotline is open 24/7, 365 days a year.",
    "Phone support costs 1,500 EUR a month.",
    "Mobile traffic is 65% of 1200000 sessions.",
    "Sizes 36/38/40/42 sell best, 44 least.",
    "Between 1990 and 2010 2015 2020 the rule changed four times.",
    "A4 is 210 x 297 mm; A3 is 297 x 420 mm.",
    "Fiscal years 2021/22, 2022/23 and 2023/24 were audited.",
    "The 95% interval is 0.12345 to 0.98765.",
    "EUR 100000 were booked twice, EUR 250000 once.",
    "The VAT number DE136695976 belongs to the company.",
    "VAT: NL4495445B01 and FR40303265045 are on the invoice.",
    "Article 2013/34/EU applies; see paragraph 12.3.",
    "Temperature went from -12.5 to 37.8 degrees.",
    "The 2023 survey had 10,482 answers out of 25,000.",
    "Batch 7 failed 3/12 times, batch 8 failed 1/12 times.",
    # ids, hashes and other code
    "Entity 123e4567-e89b-12d3-a456-426614174000 was merged.",
    "Row 12345678-1234-1234-1234-123456789012 is a fixture.",
    "Commit 9fceb02d0ae598e95dc970b74767f19372d61af8 broke it.",
    "The digest is sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.",
    "md5 d41d8cd98f00b204e9800998ecf8427e of an empty file",
    'integrity="sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC"',
    "ULID 01ARZ3NDEKTSV4RRFFQ69G5FAV sorts by time.",
    "The image tag is registry/app:2024.03.01-abc1234.",
    "max_tokens=4096 and temperature=0.7 gave the best answers.",
    "Token budget: 1200 for the session, 4000 in all.",
    "token count: 1500, tokens used: 3200",
    "The prompt has 3,500 tokens; the limit is 4k tokens.",
    "The token is expired after 3600s.",
    "password_min_length = 12 and password_history = 5",
    "Password policy: at least 12 characters, rotated every 90 days.",
    "The password is required on every login.",
    "The customer forgot the password and asked for a reset.",
    "password = os.environ['DB_PASSWORD']",
    "password: ${DB_PASSWORD}",
    "password=<your password here>",
    "api_key = get_secret('payments/api')",
    "api_key: null",
    "secret_name: prod/db/main",
    "The secret is to restart the worker before the queue.",
    "Secret: nobody reads the handbook.",
    "The key point is that retries are idempotent.",
    "Foreign key: order_id references orders(id).",
    "primary key (org_id, domain_id, id)",
    "Keyboard shortcut: Ctrl+Shift+P opens the palette.",
    "AbstractTransactionalDataSourceSpringContextTests is too long a name.",
    "Use getUserAccountByIdV2FromDatabaseReplica for reads.",
    "src/components/checkout/PaymentMethodSelector2/index.tsx was moved.",
    "https://docs.example.com/guide/getting-started/installation-on-linux",
    "https://example.com/search?q=memory&page=2&sort=desc",
    "git@github.com:example/repo.git is the upstream.",
    "npm install lodash@4.17.21 react@18.2.0",
    "from idetic import Idetic  # then bind(org_id=..., domain_id=...)",
    "SELECT count(*) FROM orders WHERE created_at > now() - interval '7 days';",
    "for i in range(1000000): total += i * 0.5",
    'std::vector<int> v; a::b::c(); fmt::print("{}", 42);',
    "CSS colours #ff8800 and #00aaFF are close; use rgba(0, 0, 0, 0.5).",
    "Error 0x80070005 means access denied.",
    "HTTP 404 on /v1/orders/4711, then 200 after 3 retries.",
    "Bind to 127.0.0.1:8080 or 0.0.0.0, never to the outside.",
    "The network 10.0.0.0/8 is private; the mask is 255.255.255.0.",
    "localhost ::1 is tried first, then 127.0.0.1.",
    "MAC 00:1A:2B:3C:4D:5E and time 12:30:45 are not addresses.",
    "The memory address: 0x7fff5fbff8a0 is out of range.",
    "Email address: must be verified before checkout.",
    "Address the issue in sprint 12, not 13.",
    "The address field has 3 validators and 120 characters.",
    "The product was born in a hackathon of 48 hours.",
    "Basic understanding of the ledger is assumed.",
    "The bearer of the message was late.",
    "UTF-8, ISO-8601, RFC-3339 and SHA-256 are used throughout.",
    'JSON: {"retries": 3, "timeout": 30.0, "ids": [1201, 1202]}',
    "| rule | hits |\n|---|---|\n| 1201 | 340 |\n| 1202 | 12 |",
    "regex ^[A-Z]{2}\\d{2}$ matches country and year",
    "docker run -p 8080:80 -v /data:/data app:1.2.3",
    "pg_dump -h db -U app --no-owner main > out.sql",
    "The mean of 12345 67890 values was 4.2.",
    # written after the detectors, to see what they make of the unknown
    "The SLA is 99.95% over 30 days (43200 minutes).",
    "build 20240301.1234 passed",
    "Node 18.17.1, npm 9.6.7, Python 3.11.7",
    "2024-W09-5 is a Friday",
    "RFC 2822 dates",
    "Room 101-202-303",
    "score 10-20-30",
    "pattern 555-12-34",
    "invoice INV-2024-03-000123",
    "ref 123-456-789",
    "lot 2023 1102 0045",
    "model XJ-900-1200",
    "GTIN 4006381333931",
    "EAN 5901234123457",
    "IMEI 356938035643809",
    "container MSCU1234567",
    "flight LH 1234 on 12 March",
    "PO 4500012345",
    "4500012345678901 is the batch id",
    "tx 0x4e3a3754410177e6937ef1f84bba68ea139e8d1a2258c5f85db9f1cd715a1bdd",
    "block 19000000 mined",
    "arn:aws:s3:::my-bucket/key",
    "arn:aws:iam::123456789012:role/Admin",
    "projects/my-proj/secrets/db/versions/3",
    "sha1 da39a3ee5e6b4b0d3255bfef95601890afd80709",
    'ETag "33a64df551425fcc55e4d42a148795d9f25f89d4"',
    "cookie consent token bucket refills 100 per second",
    "token bucket: 100/s burst 200",
    "rate limit: 5000 requests per hour",
    "The secret sauce is caching.",
    "password reset took 3 days",
    "Password reset: done 2024-03-01",
    "Access key rotation happens every 90 days",
    "api key: see vault",
    "Key: order_id",
    "key=value pairs",
    "The keyword detector: finds 12 words",
    "monkey: 3 bananas",
    "tokenization: BPE 32k",
    "auth: OAuth2 with PKCE",
    "credentials: stored in Vault",
    "born in 1985 companies",
    "1st, 2nd, 3rd at 10:00:00.000",
    "ratio 16:9:4",
    "a::b c::d",
    "11:22:33:44",
    "1,2,3,4,5,6,7,8,9,10,11",
    "1 2 3 4 5 6 7 8 9 10 11 12",
    "2023 2024 2025 2026",
    "100-200-300-400",
    "Q1 120 Q2 130 Q3 140 Q4 150",
    "9am-5pm Mon-Fri",
    "zip 94043-1351",
    "ZIP 10115 Berlin",
    "latitude 48.8566 longitude 2.3522",
    "0.00012345678",
    "1e-9 6.02214076e23",
    "12'345'678 CHF",
    "R$ 1.234.567,89",
    "₹12,34,567",
    "¥1,234,567",
    "3-2-1 backup",
    "4-4-2 formation, 2:1",
    "uid 1000 gid 1000",
    "chmod 0755",
    "#1234 and PR 5678",
    "JIRA-1234 closed",
    "JWT tokens expire after 15 minutes",
    "Base64 of hello is aGVsbG8=",
    "The user prefers dark-mode-with-high-contrast-and-large-fonts",
    "really_long_snake_case_identifier_name_for_a_function_v2",
    "com.example.enterprise.application.ServiceFactoryImpl2Bean",
    "kubectl -n prod get pods",
    "pod api-7d9f8b6c5d-x2x4z restarted 3 times",
    "s3://bucket/2024/03/01/part-00001-0a1b2c3d.parquet",
    # other scripts
    "客户在2024年3月1日下了4711号订单，金额为1,250.00元。",
    "規則1201は週末に適用されません。件数は12,345件です。",
    "고객은 2024년 3월 1일에 주문 4711을 취소했습니다.",
    "Заказ 4711 от 01.03.2024 на сумму 1 250,00 руб. отменён.",
    "طلب العميل رقم ٤٧١١ بتاريخ ٢٠٢٤ ألغي.",
    "ลูกค้ายกเลิกคำสั่งซื้อ 4711 เมื่อวันที่ 1 มีนาคม 2024",
    "Die Straße ist gesperrt; 3 Lieferungen über Köln verzögern sich.",
    "Deploy done 🎉🚀 3/3 checks ✅ in 4m 12s 👩‍💻",
    "1️⃣ collect 2️⃣ check 3️⃣ write — that order matters ❤️",
    "Emoji only: 👨‍👩‍👧‍👦 🇩🇪 🏳️‍🌈",
    "naïve café résumé Zoë, œuvre, Ångström, straße",
    "Ｆｕｌｌ　ｗｉｄｔｈ　ｔｅｘｔ with １２ items",
)

# Harmless, and taken for secrets all the same: nothing in them shows that they are not.
TAKEN_ALL_THE_SAME = (
    "bitcoin 1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
    "c3VwZXIgbG9uZyB0ZXh0IHRoYXQgaXMgYmFzZTY0",
)

# Patterns that say nothing about where they were seen, and so stay as they are.
PATTERNS = (
    "Refunds above the limit need a second approval on weekends.",
    "Operators override the weekend rule when the queue is longer than 3 hours.",
    "Retries after a timeout of 30 seconds succeed in 9 of 10 cases.",
    "When an order has more than 500 units, checks are skipped too often.",
    "SHA-256 and UTF-8 mismatches cause most of the import errors.",
    "Customers with 12 or more returns should be reviewed by hand.",
    "Version 3.2 fails more often than version 2.9 under load.",
    "In 2023 about 120000 requests per day were normal, i.e. 5000 per hour.",
)
