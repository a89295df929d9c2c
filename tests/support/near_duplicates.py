"""Statements that look alike, in three sorts. Written for this project, before the rule was.

`COMPATIBLE`: 200 pairs that differ in one detail. Both may be true, so merging them would lose
a distinction, and they contradict nothing: five for every kind of detail in every domain.
`POSITIVES`: 80 pairs that say the same thing, half of them near copies, half paraphrases.
`CONFLICTS`: 60 pairs of statements about one (subject, attribute) that name different values.

In the text below, two lines are one pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Pair(NamedTuple):
    """Two statements, the kind of their difference and the domain they come from."""

    kind: str
    domain: str
    left: str
    right: str


class Conflict(NamedTuple):
    """Two statements that give one attribute of one subject two values."""

    domain: str
    subject: str
    attribute: str
    values: tuple[str, str]
    texts: tuple[str, str]


_COMPATIBLE = """
== numbers
-- payments
Batch 41 of the settlement file was released to the clearing house.
Batch 42 of the settlement file was released to the clearing house.
A card refund took 3 days to reach the customer.
A card refund took 5 days to reach the customer.
The auditor sampled 120 wire transfers from the quarter.
The auditor sampled 1,200 wire transfers from the quarter.
Two operators signed the release of the payroll run.
Three operators signed the release of the payroll run.
The interchange fee on that card was 0.3 percent.
The interchange fee on that card was 0.35 percent.
-- operations
The deploy was rolled back after 12 failed health checks.
The deploy was rolled back after 21 failed health checks.
Node 7 was drained for a kernel upgrade.
Node 17 was drained for a kernel upgrade.
The import job retried four times and then gave up.
The import job retried forty times and then gave up.
The service listens on port 8080 behind the proxy.
The service listens on port 8443 behind the proxy.
The disk forecast changed by -2.5 percent this week.
The disk forecast changed by 2.5 percent this week.
-- medicine
The patient in room 214 was moved to the afternoon slot.
The patient in room 241 was moved to the afternoon slot.
Six appointments were cancelled because the scanner was down.
Sixteen appointments were cancelled because the scanner was down.
The follow-up visit is booked for week 6 after surgery.
The follow-up visit is booked for week 12 after surgery.
The clinic keeps 2 emergency slots open every morning.
The clinic keeps 4 emergency slots open every morning.
The infusion was planned as the first of three sessions.
The infusion was planned as the second of three sessions.
-- logistics
Truck 9 arrived at the north dock with its seal intact.
Truck 19 arrived at the north dock with its seal intact.
The shipment was split over 14 pallets.
The shipment was split over 40 pallets.
A dozen parcels were returned as undeliverable.
Two dozen parcels were returned as undeliverable.
The container waited at the terminal for 1.5 days.
The container waited at the terminal for 15 days.
The carrier scanned 98% of the parcels at pickup.
The carrier scanned 89% of the parcels at pickup.
-- personal
I run 5 kilometres along the river before work.
I run 8 kilometres along the river before work.
She takes one sugar in her coffee.
She takes two sugars in her coffee.
We booked a table for six at the Italian place.
We booked a table for eight at the Italian place.
He reads about 20 pages of a novel before sleeping.
He reads about 30 pages of a novel before sleeping.
I have visited Lisbon twice and would go again.
I have visited Lisbon three times and would go again.
== negations
-- payments
The beneficiary's name matched the account holder.
The beneficiary's name did not match the account holder.
The chargeback was filed with supporting documents.
The chargeback was filed without supporting documents.
The customer was able to confirm the mandate by phone.
The customer was unable to confirm the mandate by phone.
The bank replied to the recall request.
The bank never replied to the recall request.
The screening service found a match for the sender.
The screening service found no match for the sender.
-- operations
The nightly backup completed on the replica.
The nightly backup didn't complete on the replica.
The pager alert was acknowledged by the person on call.
The pager alert was not acknowledged by the person on call.
The cache could be flushed during the incident.
The cache could not be flushed during the incident.
The worker picked up the message from the queue.
The worker failed to pick up the message from the queue.
The certificate is trusted by the old clients.
The certificate isn't trusted by the old clients.
-- medicine
The patient attended the morning appointment.
The patient did not attend the morning appointment.
The referral arrived with the lab results.
The referral arrived without the lab results.
The patient reported chest pain during the visit.
The patient denied chest pain during the visit.
The surgeon was available for the early slot.
The surgeon was unavailable for the early slot.
The interpreter can join by video.
The interpreter cannot join by video.
-- logistics
The driver had the customs papers with him.
The driver didn't have the customs papers with him.
The parcel was insured for the sea leg.
The parcel was uninsured for the sea leg.
The consignee answered the call from the depot.
Nobody at the consignee answered the call from the depot.
The forklift was inspected before the shift.
The forklift was never inspected before the shift.
The cold chain was kept during the transfer.
The cold chain was hardly kept during the transfer.
-- personal
I like working with music on.
I don't like working with music on.
She eats fish when they go out.
She no longer eats fish when they go out.
My brother wants to be called on his birthday.
My brother does not want to be called on his birthday.
He replies to messages at the weekend.
He rarely replies to messages at the weekend.
We travel with the dog in summer.
We travel without the dog in summer.
== units
-- payments
The transfer of 500 euros was held for review.
The transfer of 500 dollars was held for review.
The settlement window stays open for 30 minutes.
The settlement window stays open for 30 hours.
The fee was raised by 2 percent last year.
The fee was raised by 2 percentage points last year.
The merchant was paid 10,000 yen for the returned goods.
The merchant was paid 10,000 yuan for the returned goods.
The cardholder disputed a charge of £80.
The cardholder disputed a charge of $80.
-- operations
The request timed out after 30 seconds.
The request timed out after 30 milliseconds.
The log volume grew by 40 GB in one night.
The log volume grew by 40 MB in one night.
The uplink was saturated at 10 Gbps.
The uplink was saturated at 10 Mbps.
The certificate was renewed for 90 days.
The certificate was renewed for 90 months.
The heap limit of the worker is 512 MiB.
The heap limit of the worker is 512 KiB.
-- medicine
The dose was entered as 5 mg per day.
The dose was entered as 5 g per day.
The fasting period before the scan is 8 hours.
The fasting period before the scan is 8 days.
The infusion ran at 50 ml per hour.
The infusion ran at 50 ml per minute.
The tablet is taken every 6 hours with water.
The tablet is taken every 6 weeks with water.
The patient's temperature was noted as 39 degrees Celsius.
The patient's temperature was noted as 39 degrees Fahrenheit.
-- logistics
The crate weighs 80 kilograms on the dock scale.
The crate weighs 80 pounds on the dock scale.
The route to the warehouse is 120 km long.
The route to the warehouse is 120 miles long.
The reefer was set to 4 °C for the crossing.
The reefer was set to 4 °F for the crossing.
The order was for 25 pallets of tiles.
The order was for 25 boxes of tiles.
The tank holds 900 litres of diesel.
The tank holds 900 gallons of diesel.
-- personal
I sleep better when the room is at 18 degrees for 8 hours.
I sleep better when the room is at 18 degrees for 8 minutes.
He walked 10 miles on his last holiday.
He walked 10 kilometres on his last holiday.
She adds 2 teaspoons of honey to the tea.
She adds 2 tablespoons of honey to the tea.
We save 200 euros a month for the trip.
We save 200 euros a week for the trip.
I lost 3 kilos during the training.
I lost 3 pounds during the training.
== entities
-- payments
Ada approved the release of the blocked wire.
Grace approved the release of the blocked wire.
The sanctions check is run by the vendor in Dublin.
The sanctions check is run by the vendor in Berlin.
The refund was sent to the customer on the same day.
The refund was sent to the merchant on the same day.
Payment PMT-20391 was returned by the correspondent bank.
Payment PMT-20319 was returned by the correspondent bank.
Visa asked for the evidence of delivery.
Mastercard asked for the evidence of delivery.
-- operations
The migration was run against orders_eu in the maintenance window.
The migration was run against orders_us in the maintenance window.
The checkout service restarted after the rollout.
The billing service restarted after the rollout.
Priya owns the runbook for the message broker.
Pedro owns the runbook for the message broker.
The primary in eu-west-1 was promoted after the failure.
The primary in eu-west-2 was promoted after the failure.
The dashboard reads its data from Prometheus.
The dashboard reads its data from InfluxDB.
-- medicine
Dr. Okafor prefers to see new patients in the morning.
Dr. Okonkwo prefers to see new patients in the morning.
The cardiology clinic moved to the second floor.
The neurology clinic moved to the second floor.
The patient takes metoprolol in the evening.
The patient takes metformin in the evening.
The scan of the left knee was booked with contrast.
The scan of the right knee was booked with contrast.
The nurse called the patient's daughter about the new time.
The nurse called the patient's mother about the new time.
-- logistics
The container from Rotterdam was cleared by customs.
The container from Hamburg was cleared by customs.
Maersk confirmed the new sailing schedule.
Hapag confirmed the new sailing schedule.
The supplier paid for the repacking of the goods.
The carrier paid for the repacking of the goods.
Container MSKU4410277 was weighed at the gate.
Container MSKU4410272 was weighed at the gate.
The depot in Lyon ships to the depot in Turin.
The depot in Turin ships to the depot in Lyon.
-- personal
My sister Clara is allergic to peanuts.
My sister Laura is allergic to peanuts.
He prefers tea in the afternoon.
He prefers coffee in the afternoon.
Tom lent Jane his car for the weekend.
Jane lent Tom his car for the weekend.
I learned to cook risotto from my grandmother.
I learned to cook risotto from my grandfather.
She wants to spend the holiday in Norway.
She wants to spend the holiday in Sweden.
== dates
-- payments
The dispute was opened on 3 March 2024.
The dispute was opened on 3 May 2024.
The payroll file is uploaded on Thursdays.
The payroll file is uploaded on Tuesdays.
The licence of the payment institution was renewed in 2022.
The licence of the payment institution was renewed in 2023.
The cut-off for same-day wires was checked at 15:30.
The cut-off for same-day wires was checked at 16:30.
The quarterly report for Q2 was filed with the regulator.
The quarterly report for Q3 was filed with the regulator.
-- operations
The certificate of the gateway was rotated on 2024-06-01.
The certificate of the gateway was rotated on 2024-07-01.
The cluster is patched on the first Monday of the month.
The cluster is patched on the last Monday of the month.
The incident review was held yesterday with the whole team.
The incident review was held today with the whole team.
The batch window begins at 2 am.
The batch window begins at 2 pm.
The contract for the old data centre ends in October.
The contract for the old data centre ends in December.
-- medicine
The patient asked for appointments on Wednesday mornings.
The patient asked for appointments on Friday mornings.
The vaccination clinic opens on 12 September.
The vaccination clinic opens on 21 September.
The blood test was taken at 07:45 before breakfast.
The blood test was taken at 08:45 before breakfast.
The ward round takes place in the morning.
The ward round takes place in the evening.
The next review of the treatment is due in spring.
The next review of the treatment is due in autumn.
-- logistics
The vessel left the port on Sunday with two crates missing.
The vessel left the port on Saturday with two crates missing.
The parcel was promised for 24 December.
The parcel was promised for 27 December.
The dock is closed for repairs in August.
The dock is closed for repairs in April.
The stock count of 2021 showed a shortage of tiles.
The stock count of 2012 showed a shortage of tiles.
The truck from the port comes tonight.
The truck from the port comes tomorrow.
-- personal
We play board games on Tuesday evenings.
We play board games on Thursday evenings.
I met her at the summer festival in 2016.
I met her at the summer festival in 2018.
My parents visit us in January.
My parents visit us in June.
He calls his mother at noon.
He calls his mother at midnight.
She started the guitar course last week.
She started the guitar course last month.
== quantifiers
-- payments
All refunds of the week were checked by a second person.
Some refunds of the week were checked by a second person.
Most disputes are closed in favour of the merchant.
Few disputes are closed in favour of the merchant.
Every wire above the limit was screened by hand.
Nearly every wire above the limit was screened by hand.
The token is valid for a single payment.
The token is valid for several payments.
Both signatories confirmed the change of bank details.
One signatory confirmed the change of bank details.
-- operations
All replicas were restarted during the upgrade.
Half of the replicas were restarted during the upgrade.
The feature flag is on for every tenant.
The feature flag is on for any tenant that asks.
Only the canary hosts received the new build.
The canary hosts received the new build.
Many requests were served from the stale cache.
A few requests were served from the stale cache.
The alert always fires during the deploy.
The alert sometimes fires during the deploy.
-- medicine
Each patient on the list received a reminder.
Some patients on the list received a reminder.
The rooms on the ward are all booked in the morning.
The rooms on the ward are mostly booked in the morning.
Several slots were kept for urgent cases.
All slots were kept for urgent cases.
The patient usually comes with a companion.
The patient always comes with a companion.
Only the head nurse can change the rota.
The head nurse can change the rota.
-- logistics
Every pallet of the order was wrapped and labelled.
Some pallets of the order were wrapped and labelled.
Part of the cargo was unloaded in the first port.
The whole cargo was unloaded in the first port.
Neither driver had a permit for the tunnel.
Either driver had a permit for the tunnel.
At least two carriers offered a slot for the week.
At most two carriers offered a slot for the week.
Most of the returns come back in the original box.
All of the returns come back in the original box.
-- personal
I like every film by that director.
I like some films by that director.
He often works from the library.
He occasionally works from the library.
She only drinks decaf after lunch.
She drinks decaf after lunch.
We know everyone in the choir.
We know hardly anyone in the choir.
All my cousins live near the coast.
Most of my cousins live near the coast.
== conditions
-- payments
A wire is released when the customer confirms it by phone.
A wire is released when the customer confirms it by letter.
The fee is waived if the account is new.
The fee is waived if the account is dormant.
Refunds are paid in cash unless the card has expired.
Refunds are paid in cash if the card has expired.
A second approval is needed for payments to new beneficiaries.
A second approval is needed for payments to foreign beneficiaries.
The limit is raised after the identity check.
The limit is raised after the income check.
-- operations
The job is restarted if the worker crashes.
The job is restarted if the worker hangs.
Traffic moves to the standby when the primary is overloaded.
Traffic moves to the standby when the primary is unreachable.
Deploys are allowed while the error budget lasts.
Deploys are allowed until the error budget is spent and reviewed.
The pod is evicted when memory runs short.
The pod is evicted when disk runs short.
Send the page to the team lead in case the ticket is urgent.
Send the page to the team lead even if the ticket is urgent.
-- medicine
The dose is reduced if the patient feels dizzy.
The dose is reduced if the patient feels nauseous.
The appointment is moved when the doctor is ill.
The appointment is moved when the patient is ill.
The tablet is taken with food.
The tablet is taken on an empty stomach.
The test is repeated if the first result is positive.
The test is repeated if the first result is unclear.
The scan can go ahead once the consent form is signed.
The scan can go ahead although the consent form is signed.
-- logistics
The shipment is rerouted if the bridge is closed.
The shipment is rerouted if the tunnel is closed.
Parcels are left with a neighbour when nobody is at home.
Parcels are left in the locker when nobody is at home.
The goods are inspected before loading when the weather is wet.
The goods are inspected before loading when the weather is hot.
The driver waits for the escort and the permit.
The driver waits for the escort or the permit.
Storage is free provided that the goods leave by rail.
Storage is free provided that the goods leave by road.
-- personal
I take the bike to work when it is dry.
I take the bike to work when it is warm.
She cooks at home if she finishes early.
She cooks at home if she finishes late.
He watches football with friends when his team plays.
He watches football with family when his team plays.
I can join the call if the children are asleep.
I can join the call if the children are at school.
We go to the cinema because it rains.
We go to the cinema even though it rains.
== comparatives
-- payments
Transfers above the threshold are reported to the regulator.
Transfers below the threshold are reported to the regulator.
The dispute rate of the merchant increased over the quarter.
The dispute rate of the merchant decreased over the quarter.
The screening takes place before the booking.
The screening takes place after the booking.
Card payments are cheaper for the shop than cash.
Card payments are dearer for the shop than cash.
The bank allows instant payments to that country.
The bank blocks instant payments to that country.
-- operations
The new index makes the search faster.
The new index makes the search slower.
The feature was enabled for the beta group.
The feature was disabled for the beta group.
The error rate is higher on the old hosts.
The error rate is lower on the old hosts.
The minimum number of connections was changed in the pool.
The maximum number of connections was changed in the pool.
The service was scaled up over the weekend.
The service was scaled down over the weekend.
-- medicine
The patient should drink more water before the test.
The patient should drink less water before the test.
The blood pressure rose during the night.
The blood pressure fell during the night.
The appointment was made earlier than planned.
The appointment was made later than planned.
The tablet is taken before the meal.
The tablet is taken after the meal.
The patient may exercise in the second week.
The patient must exercise in the second week.
-- logistics
The shipment arrived early at the depot.
The shipment arrived late at the depot.
The heavier crates go to the bottom of the stack.
The lighter crates go to the bottom of the stack.
The import duty on tiles went up.
The import duty on tiles went down.
The inbound dock is busy in the morning.
The outbound dock is busy in the morning.
The route through the valley is shorter in winter.
The route through the valley is longer in winter.
-- personal
I prefer the window seat on longer flights.
I prefer the window seat on shorter flights.
He likes his curry hotter than his wife does.
He likes his curry milder than his wife does.
She likes the first book of the series best.
She likes the last book of the series best.
We have more time for sport in summer.
We have less time for sport in summer.
He likes mornings better than evenings.
He likes evenings better than mornings.
"""

_POSITIVES = """
== copies
-- payments
Refunds above 1,000 euros need a second approval.
refunds above 1000 euros need a second approval
The wire to Dublin didn't pass the sanctions check.
The wire to Dublin did not pass the sanctions check.
The chargeback fee is 15 EUR per case.
The chargeback fee is €15 per case.
The merchant's dispute rate was 2.5% in March.
The merchant's dispute rate was 2.5 percent in March.
Two operators must sign every wire transfer.
2 operators must sign every wire transfer.
The payroll file is uploaded on Thursday.
The payroll file is uploaded on Thursday!
The customer's bank details were changed - by phone.
The customer's bank details were changed by phone.
The beneficiary is called Nordwind Ltd.
The beneficiary is called "Nordwind Ltd".
-- operations
The request timed out after 30 seconds.
The request timed out after 30 s.
The deploy was rolled back at 14:05.
Deploy was rolled back at 14:05.
The nightly backup on db-7 cannot be restored.
The nightly backup on db-7 can't be restored.
The heap limit of the worker is 512 MB.
The heap limit of the worker is 512MB.
Error rates rose after release v2.4.1.
The error rates rose after release v2.4.1.
The queue is drained before the upgrade starts.
Before the upgrade starts, the queue is drained.
The runbook is in the ops wiki.
The runbook is in the Ops wiki
The dashboard reads its data from Prometheus.
The dashboard reads its data  from Prometheus .
-- medicine
The dose was entered as 5 mg per day.
The dose was entered as 5mg per day.
The patient asked for appointments on Wednesday mornings.
The patient asked for appointments on wednesday mornings.
Dr. Okafor sees new patients in the morning.
Dr Okafor sees new patients in the morning.
The follow-up visit is booked for week six.
The follow up visit is booked for week 6.
The patient is allergic to penicillin.
Patient is allergic to penicillin.
The blood test is on 3 March 2025 at 08:15.
The blood test is on March 3, 2025 at 08:15.
The scanner on floor 2 is out of order.
The scanner on the 2nd floor is out of order.
The ward's rota changes on the first of the month.
The rota of the ward changes on the first of the month.
-- logistics
Container MSKU4410277 was weighed at the gate.
The container MSKU4410277 was weighed at the gate.
The crate weighs 80 kilograms.
The crate weighs 80 kg.
A dozen parcels were returned.
12 parcels were returned.
The carrier scanned 98 % of the parcels.
The carrier scanned 98% of the parcels.
The goods were inspected before loading.
The goods were inspected, before loading.
The pallet must not be stacked.
The pallet mustn't be stacked.
The vessel left Rotterdam on Sunday.
On Sunday the vessel left Rotterdam.
The driver's permit expires in October.
The permit of the driver expires in October.
-- personal
I don't like working with music on.
I do not like working with music on.
She takes two sugars in her coffee.
She takes 2 sugars in her coffee.
He prefers tea in the afternoon.
In the afternoon he prefers tea.
My sister Clara is allergic to peanuts.
My sister, Clara, is allergic to peanuts.
We travel with the dog in summer.
We travel with the dog in the summer.
I have never been to Norway.
I've never been to Norway.
She is learning to play the guitar.
She's learning to play the guitar.
We play board games on Tuesday evenings.
We play board games Tuesday evenings.
== paraphrases
-- payments
A wire above 10,000 euros has to be approved by two operators.
Two operators have to approve a wire above 10,000 euros.
The bank rejected the payment because the name did not match.
Because the name did not match, the payment was rejected by the bank.
The merchant must submit proof of delivery within 7 days.
Within 7 days the merchant must provide proof of delivery.
Refunds go back to the card that was used for the purchase.
Refunds are returned to the card used for the purchase.
The customer complained that the fee was charged twice.
The customer complained about being charged the fee twice.
The audit found that one transfer had no second signature.
According to the audit, one transfer lacked a second signature.
The compliance team reviews new merchants every Monday.
Every Monday new merchants are reviewed by the compliance team.
Visa asked for the evidence of delivery in the dispute.
In the dispute, Visa requested evidence of delivery.
-- operations
The service crashed because it ran out of memory.
Running out of memory made the service crash.
The release was delayed by a broken migration.
A broken migration delayed the release.
The on-call engineer restarted the broker by hand.
The broker was manually restarted by the engineer on call.
Deploys are frozen during the holidays.
There is a deploy freeze during the holidays.
The replica was three hours behind the primary.
The replica lagged three hours behind the primary.
The alert fires when the disk is 90% full.
When the disk is 90% full, the alert is triggered.
Priya wrote the runbook for the message broker.
The runbook for the message broker was written by Priya.
The cache is emptied each night.
The cache gets cleared every night.
-- medicine
The patient would like a morning appointment.
The patient wants an appointment in the morning.
The operation was postponed because the surgeon was ill.
Because the surgeon was sick, the operation was postponed.
The clinic phones patients one day before their visit.
Patients are phoned by the clinic one day before their visit.
Nurse Ito changes the dressing on Tuesdays and Fridays.
On Tuesdays and Fridays, the dressing is changed by nurse Ito.
The patient has to fast for eight hours before the scan.
Before the scan the patient must not eat for 8 hours.
Metformin is taken with the evening meal.
The patient takes metformin with dinner.
The interpreter joins the visit by video.
The interpreter attends the visit via video.
The referral was sent to the cardiology clinic.
The cardiology clinic was sent the referral.
-- logistics
Customs cleared the container from Rotterdam.
The container from Rotterdam was cleared by customs.
The driver was held up at the border for five hours.
The driver was delayed for five hours at the border.
The goods have to stay below 5 °C.
The goods must be kept below 5 °C.
The carrier lost two parcels on the way to Turin.
Two parcels were lost by the carrier on the way to Turin.
The dock closes at 6 pm.
The dock shuts at 6 pm.
The customer refused the delivery since the box was wet.
The customer refused the delivery because the box was wet.
The warehouse in Lyon is short of staff.
The Lyon warehouse does not have enough staff.
Pallets are wrapped prior to loading.
Pallets are wrapped before loading.
-- personal
I'm a vegetarian.
I do not eat meat.
My favourite colour is green.
The colour I like best is green.
She loves hiking in the mountains.
She really enjoys mountain hikes.
He gets up at six to go running.
He goes running at six, right after he gets up.
We bought our house in 2019.
Our house was bought by us in 2019.
I prefer being contacted by e-mail.
I prefer to be contacted by email.
My parents live close to the sea.
My parents live near the sea.
She speaks Spanish fluently.
Her Spanish is fluent.
"""

_CONFLICTS = """
-- payments
wire limit | approvals | one | two
A wire above the limit needs one approval.
A wire above the limit needs two approvals.
merchant 88 | risk class | high | low
Merchant 88 was put into the high risk class.
Merchant 88 is a low risk merchant.
refund | deadline | 14 days | 30 days
Refunds have to be paid within 14 days.
The deadline for refunds is 30 days.
payroll file | upload day | Thursday | Tuesday
The payroll file is uploaded on Thursdays.
The payroll file is uploaded on Tuesdays.
Nordwind Ltd | country | Ireland | Germany
Nordwind Ltd is registered in Ireland.
Nordwind Ltd has its seat in Germany.
chargeback | fee | 15 EUR | 25 EUR
The chargeback fee is 15 EUR per case.
Each chargeback costs the merchant 25 EUR.
PMT-20391 | status | released | blocked
Payment PMT-20391 was released.
Payment PMT-20391 is blocked.
instant payments | allowed | yes | no
Instant payments to that country are allowed.
The bank does not allow instant payments to that country.
sanctions list | refresh | daily | weekly
The sanctions list is refreshed daily.
The sanctions list is refreshed once a week.
dispute 771 | outcome | won | lost
The merchant won dispute 771.
The merchant lost dispute 771.
settlement | cut-off | 15:30 | 16:30
The cut-off for settlement is 15:30.
Settlement closes at 16:30.
account 4410 | owner | Ada | Grace
Account 4410 belongs to Ada.
Grace is the owner of account 4410.
-- operations
checkout | port | 8080 | 8443
Checkout listens on port 8080.
Checkout listens on port 8443.
orders_eu | primary region | eu-west-1 | eu-west-2
The primary of orders_eu runs in eu-west-1.
The primary of orders_eu runs in eu-west-2.
message broker | runbook owner | Priya | Pedro
Priya owns the runbook for the message broker.
Pedro owns the runbook for the message broker.
nightly backup | starts at | 02:00 | 03:00
The nightly backup starts at 02:00.
The nightly backup begins an hour later, at 03:00.
api gateway | rate limit | 100 per second | 1000 per second
The gateway lets 100 requests per second through.
The gateway lets 1,000 requests per second through.
worker | heap limit | 512 MB | 1 GB
Workers have a heap limit of 512 MB.
Workers have a heap limit of 1 GB.
feature dark-mode | state | enabled | disabled
Dark mode is enabled for the beta group.
Dark mode is disabled for the beta group.
incident 4512 | cause | expired certificate | full disk
Incident 4512 was caused by an expired certificate.
A full disk was the cause of incident 4512.
postgres | version | 16 | 17
The database runs PostgreSQL 16.
The database runs PostgreSQL 17.
deploy freeze | begins | Friday | Wednesday
The deploy freeze begins on Friday.
The deploy freeze begins on Wednesday.
node 17 | state | drained | active
Node 17 is drained.
Node 17 takes traffic.
log retention | days | 30 | 90
Logs are kept for 30 days.
Logs are kept for 90 days.
-- medicine
patient 214 | appointment | Monday 09:00 | Monday 10:00
Patient 214 is booked for Monday at 09:00.
Patient 214 is booked for Monday at 10:00.
patient 214 | allergy | penicillin | none
Patient 214 is allergic to penicillin.
Patient 214 has no known allergies.
Dr. Okafor | room | 12 | 14
Dr. Okafor sees patients in room 12.
Dr. Okafor sees patients in room 14.
metformin order | dose | 500 mg | 850 mg
Metformin was ordered at 500 mg.
Metformin was ordered at 850 mg.
scanner B | state | in service | out of order
Scanner B is back in service.
Scanner B is out of order.
knee operation | side | left | right
The operation is on the left knee.
The operation is on the right knee.
ward round | time of day | morning | evening
The ward round takes place in the morning.
The ward round takes place in the evening.
patient 87 | interpreter | Arabic | Farsi
Patient 87 needs an Arabic interpreter.
Patient 87 needs a Farsi interpreter.
vaccination clinic | opens on | 12 September | 21 September
The vaccination clinic opens on 12 September.
The vaccination clinic opens on 21 September.
patient 87 | fasting | required | not required
Patient 87 has to fast before the test.
Patient 87 does not have to fast before the test.
follow-up | interval | 6 weeks | 12 weeks
The follow-up visit is due after 6 weeks.
The follow-up visit is due after 12 weeks.
cardiology clinic | floor | second | third
The cardiology clinic is on the second floor.
The cardiology clinic is on the third floor.
-- logistics
MSKU4410277 | weight | 21 t | 24 t
Container MSKU4410277 weighs 21 t.
Container MSKU4410277 weighs 24 t.
order 5521 | carrier | Maersk | Hapag
Order 5521 is shipped by Maersk.
Order 5521 is shipped by Hapag.
north dock | closing time | 6 pm | 8 pm
The north dock closes at 6 pm.
The north dock closes at 8 pm.
reefer 12 | set point | 4 °C | -18 °C
Reefer 12 is set to 4 °C.
Reefer 12 is set to -18 °C.
truck 9 | driver | Marek | Anya
Marek drives truck 9.
Anya drives truck 9.
order 5521 | pallets | 14 | 40
Order 5521 has 14 pallets.
Order 5521 has 40 pallets.
Lyon depot | stacking | allowed | forbidden
Stacking is allowed in the Lyon depot.
Stacking is forbidden in the Lyon depot.
tiles | duty | 5% | 8%
The import duty on tiles is 5%.
The import duty on tiles is 8%.
parcel 66-A | status | delivered | returned
Parcel 66-A was delivered.
Parcel 66-A came back to the sender.
route 4 | length | 120 km | 135 km
Route 4 is 120 km long.
Route 4 is 135 km long.
bridge | state | open | closed
The bridge is open for trucks.
The bridge is closed for trucks.
storage | free days | 3 | 5
Storage is free for the first 3 days.
Storage is free for the first 5 days.
-- personal
user | home city | Lisbon | Porto
I live in Lisbon.
I moved to Porto.
user | diet | vegetarian | omnivore
I am a vegetarian.
I eat everything.
user | preferred contact | e-mail | phone
Please contact me by e-mail.
Please call me instead of writing.
user | favourite colour | green | blue
My favourite colour is green.
My favourite colour is blue.
Clara | allergy | peanuts | shellfish
Clara is allergic to peanuts.
Clara is allergic to shellfish.
user | employer | Nordwind | Sudwind
I work for Nordwind.
I work for Sudwind.
user | wake-up time | 6 am | 7 am
I get up at 6 am.
I get up at 7 am.
user | seat | window | aisle
I prefer the window seat.
I prefer the aisle seat.
dog | name | Rex | Bruno
Our dog is called Rex.
Our dog is called Bruno.
inventory | day | 3 March | 3 May
The inventory is on 3 March.
The inventory is on 3 May.
user | drinks alcohol | yes | no
I enjoy a glass of wine.
I do not drink alcohol.
user | language | Spanish | Portuguese
Please write to me in Spanish.
Please write to me in Portuguese.
"""


def _sections(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Kind, domain and lines of every section."""
    for part in text.split("== "):
        kind, *domains = part.split("-- ")
        for section in domains:
            domain, *lines = section.strip().splitlines()
            yield kind.strip(), domain, lines


def _pairs(text: str) -> Iterator[Pair]:
    for kind, domain, lines in _sections(text):
        for left, right in zip(lines[::2], lines[1::2], strict=True):
            yield Pair(kind, domain, left, right)


def _conflicts(text: str) -> Iterator[Conflict]:
    for _, domain, lines in _sections(text):
        for head, left, right in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
            subject, attribute, one, other = (part.strip() for part in head.split("|"))
            yield Conflict(domain, subject, attribute, (one, other), (left, right))


COMPATIBLE: tuple[Pair, ...] = tuple(_pairs(_COMPATIBLE))
POSITIVES: tuple[Pair, ...] = tuple(_pairs(_POSITIVES))
CONFLICTS: tuple[Conflict, ...] = tuple(_conflicts(_CONFLICTS))
