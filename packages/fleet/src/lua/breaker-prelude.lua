-- The beginning of every script about a breaker, after prelude.lua.
--
-- KEYS[1]  state of the breaker: a hash
-- KEYS[2]  current round of votes: a hash
-- KEYS[3]  counts of the fleet's window: a hash
-- ARGV[1]  node that sends the command
-- ARGV[2]  id of the breaker
-- ARGV[3]  last epoch that the node knows
-- ARGV[4]  and following: arguments of the command
--
-- Result of every command: the state of the breaker as JSON (see view), with fields that the command adds.
--
-- An epoch is at least the time of Redis in tenths of a millisecond. So epochs grow even if Redis lost the previous one and no
-- node that is left knows it. An epoch that is more than a day ahead of the time was not written by a script, or was written
-- under a wrong clock. It counts as 0, because otherwise it would block every later change. Other numbers outside of their
-- range are read as 0 too.

local stateKey, roundKey, countsKey = KEYS[1], KEYS[2], KEYS[3]
local node, id = ARGV[1], ARGV[2]

local DAY_MS = 86400000
local MAX_TIME_MS = now + 366 * DAY_MS

local function numberUpTo(text, max)
  local number = tonumber(text or '0')
  if not number or number ~= number or number < 0 or number > max then return 0 end
  return number
end

local function parseEpoch(text) return math.floor(numberUpTo(text, (now + DAY_MS) * 10)) end

local knownEpoch = parseEpoch(ARGV[3])

-- The fields of the state hash. Every write goes through setField, so that this copy stays current.
local fields = {}
local stored = redis.call('HGETALL', stateKey)
for i = 1, #stored, 2 do fields[stored[i]] = stored[i + 1] end
if fields.state ~= 'open' and fields.state ~= 'half_open' then fields.state = fields.state and 'closed' end

local function getNumber(field)
  if field == 'epoch' then return parseEpoch(fields.epoch) end
  return numberUpTo(fields[field], MAX_TIME_MS)
end

local function setField(field, value)
  fields[field] = tostring(value)
  redis.call('HSET', stateKey, field, fields[field])
end

local function deleteField(field)
  fields[field] = nil
  redis.call('HDEL', stateKey, field)
end

-- Sets a time of the state: when the breaker opened, the end of its open duration, or the end of a lease.
local function setTime(field, value)
  setField(field, value)
  setField('at', now)
end

-- The time of Redis can go back: its clock is set, or a replica takes over whose clock is behind. All times of the state go back
-- with it, because otherwise the breaker would stay open, and leases would be valid, for longer by as much. `at` is the time of
-- Redis at which the last of them was set.
local backMs = getNumber('at') - now
if backMs > 0 then
  for field, value in pairs(fields) do
    if field == 'until' or field == 'openedAt' or string.sub(field, 1, 6) == 'lease:' then
      setField(field, math.max(0, numberUpTo(value, MAX_TIME_MS + backMs) - backMs))
    end
  end
  setField('at', now)
end

local function isClosed() return (fields.state or 'closed') == 'closed' end

local storedEpoch = getNumber('epoch')
-- The state changes in the epoch after this one.
local lastEpoch = math.max(storedEpoch, knownEpoch)

local function epochAfter(epoch)
  return math.max(epoch + 1, time[1] * 10000 + math.floor(time[2] / 100))
end

-- The state of the breaker as nodes read it. `left` and `age` are durations, because clocks of nodes differ.
local function describe(more)
  local view = {
    id = id,
    node = fields.node or '',
    epoch = math.max(getNumber('epoch'), 0),
    state = fields.state or 'closed',
    left = math.max(0, getNumber('until') - now),
    openFor = getNumber('openFor'),
    openings = getNumber('openings'),
    failures = getNumber('failures'),
    off = fields.off == '1',
    tripFor = getNumber('tripFor'),
    now = now,
  }
  if view.state ~= 'closed' and fields.openedAt then view.age = math.max(0, now - getNumber('openedAt')) end
  for key, value in pairs(more or {}) do view[key] = value end
  return view
end

local function view(more) return cjson.encode(describe(more)) end

local function publishState() publish(describe()) end

-- Lets the state expire a day after the end of its open duration.
local function extendExpiry()
  redis.call('PEXPIRE', stateKey, DAY_MS + math.max(0, math.floor(getNumber('until') - now)))
end

-- Deletes expired probe leases, or all of them. Returns how many are left and when the first of these ends.
local function deleteLeases(isEvery)
  local live, firstEnd = 0, math.huge
  for field, value in pairs(fields) do
    if string.sub(field, 1, 6) == 'lease:' then
      local leaseEnd = numberUpTo(value, MAX_TIME_MS)
      if isEvery or leaseEnd <= now then
        deleteField(field)
      else
        live = live + 1
        firstEnd = math.min(firstEnd, leaseEnd)
      end
    end
  end
  return live, firstEnd
end

local function changeState(state)
  deleteLeases(true)
  setField('epoch', epochAfter(lastEpoch))
  setField('state', state)
  setField('node', node)
  setField('granted', 0)
  setField('successes', 0)
  redis.call('DEL', roundKey, countsKey)
end

-- `tripFor` is the duration for which an operator trips the breaker; without it, its settings determine `openFor`.
local function open(openFor, openings, failures, tripFor)
  if fields.state ~= 'open' then setTime('openedAt', now) end
  changeState('open')
  setTime('until', now + openFor)
  setField('openFor', openFor)
  setField('tripFor', tripFor or 0)
  setField('openings', openings)
  setField('failures', failures)
  extendExpiry()
  publishState()
end

local function close()
  changeState('closed')
  setField('until', 0)
  setField('failures', 0)
  extendExpiry()
  publishState()
end
