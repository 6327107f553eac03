-- Grants a permit for one probe. An epoch has at most `maxProbes` permits: when all of them have ended and the state has not
-- changed, the next permit begins another epoch.
--
-- KEYS, ARGV[1] to ARGV[3] and result: see breaker-prelude.lua
-- ARGV[4]  most probes at a time
-- ARGV[5]  milliseconds of the lease, which the node can extend
-- ARGV[6]  milliseconds before the end of the open duration at which a permit can be requested
-- ARGV[7]  milliseconds for which the node lets the permit wait for a caller; small if its calls are close together
--
-- Result, added fields:
--   token  the permit, as EPOCH:NUMBER
--   early  milliseconds until the permit is valid
--   wait   milliseconds until a permit can be requested again; without a token

local maxProbes, leaseMs, aheadMs = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local holdMs = tonumber(ARGV[7])

if isClosed() then return view() end
if fields.state == 'open' then
  local remaining = getNumber('until') - now
  if remaining > aheadMs then return view({ wait = remaining }) end
  setField('epoch', epochAfter(lastEpoch))
  setField('state', 'half_open')
  setField('granted', 0)
  setField('successes', 0)
end

local live, firstEnd = deleteLeases(false)
if getNumber('granted') >= maxProbes then
  if live > 0 then
    if not fields.wantedHold or holdMs < getNumber('wantedHold') then setField('wantedHold', holdMs) end
    return view({ wait = firstEnd - now })
  end
  setField('epoch', epochAfter(getNumber('epoch')))
  setField('granted', 0)
end

local token = getNumber('epoch') .. ':' .. (getNumber('granted') + 1)
setField('granted', getNumber('granted') + 1)
setTime('lease:' .. token, math.max(now, getNumber('until')) + leaseMs)
deleteField('wantedHold')
extendExpiry()
return view({ token = token, early = math.max(0, getNumber('until') - now) })
