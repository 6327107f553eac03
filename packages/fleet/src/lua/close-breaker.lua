-- Closes a breaker after a successful probe that a node made alone, unless the fleet has changed it since the epoch that the
-- node knows.
--
-- KEYS, ARGV[1] to ARGV[3] and result: see breaker-prelude.lua

if storedEpoch <= knownEpoch and not isClosed() then close() end
return view()
