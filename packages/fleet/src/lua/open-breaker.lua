-- Opens a breaker, unless the fleet has changed it since the epoch that the node knows.
--
-- KEYS, ARGV[1] to ARGV[3] and result: see breaker-prelude.lua
-- ARGV[4]  open duration in milliseconds
-- ARGV[5]  consecutive openings, with this one
-- ARGV[6]  failures that opened it

local openFor, openings, failures = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

if storedEpoch <= knownEpoch then open(openFor, openings, failures) end
return view()
