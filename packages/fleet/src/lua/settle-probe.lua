-- Records the outcome of a probe whose lease has not expired.
--
-- KEYS, ARGV[1] to ARGV[3] and result: see breaker-prelude.lua
-- ARGV[4]  token of the permit
-- ARGV[5]  success, failure, or nothing for a probe without an outcome
-- ARGV[6]  successes that close the breaker
-- ARGV[7]  open duration in milliseconds, for a failure
-- ARGV[8]  consecutive openings, for a failure
-- ARGV[9]  failures, for a failure
--
-- Result, added field:
--   gone  true if the lease has expired; the outcome is ignored then

local leaseField, outcome, successThreshold = 'lease:' .. ARGV[4], ARGV[5], tonumber(ARGV[6])
local openFor, openings, failures = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])

deleteLeases(false)
if not fields[leaseField] then return view({ gone = true }) end
deleteField(leaseField)

lastEpoch = getNumber('epoch')
if outcome == 'failure' then
  open(openFor, openings, failures)
else
  if outcome == 'success' then setField('successes', getNumber('successes') + 1) end
  if outcome == 'success' and getNumber('successes') >= successThreshold then close() else publishState() end
end
return view()
