-- Extends the lease of a probe that has started, or of a permit that waits for a caller.
--
-- KEYS, ARGV[1] to ARGV[3] and result: see breaker-prelude.lua
-- ARGV[4]  token of the permit
-- ARGV[5]  milliseconds that the probe can take, or of the next lease
-- ARGV[6]  milliseconds for which the permit waits for a caller; absent if the probe has started
--
-- Result, added fields:
--   gone    true if the lease has expired
--   wanted  true if a node whose permits wait for less time was denied one since the last extension

local leaseField, leaseMs, holdMs = 'lease:' .. ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])

deleteLeases(false)
if not fields[leaseField] then return view({ gone = true }) end
setTime(leaseField, now + leaseMs)
if not holdMs then return view() end
local isWanted = fields.wantedHold ~= nil and getNumber('wantedHold') < holdMs
deleteField('wantedHold')
return view({ wanted = isWanted })
