-- How much a text states is worked out when it is asked for: no writer hands it in.
ALTER TYPE idetic.item DROP ATTRIBUTE substance;
ALTER TYPE idetic.step DROP ATTRIBUTE substance;
