SELECT p.profile_id INTO made.profile_id FROM idetic.embedding_profiles p
WHERE p.name || '@' || p.fingerprint = item ->> 'profile';
