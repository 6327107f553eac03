-- Extends the lease of a probe that has started.
--
-- KEYS, ARGV[1] to ARGV[3] and result: see breaker-prelude.lua
-- ARGV[4]  token of the permit
-- ARGV[5]  milliseconds that the probe can take
--
-- Result, added field:
--   gone  true if the lease has expired

local leaseField, leaseMs = 'lease:' .. ARGV[4], tonumber(ARGV[5])

deleteLeases(false)
if not fields[leaseField] then return view({ gone = true }) end
setField(leaseField, now + leaseMs)
return view()
