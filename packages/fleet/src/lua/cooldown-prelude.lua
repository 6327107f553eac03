-- The beginning of every script about cooldowns, after prelude.lua. Deletes the cooldowns that have ended.
--
-- KEYS[1]  cooldowns of a pool: a sorted set of members, by the time at which each ends. The time of Redis at which the last one
--          was set is in it too, negated, so that it is never deleted as a cooldown that has ended. Its member is empty.
-- ARGV[1]  node that sends the command
-- ARGV[2]  pool
-- ARGV[3]  member

local cooldownsKey = KEYS[1]
local node, pool, member = ARGV[1], ARGV[2], ARGV[3]

local TIME_MEMBER = ''

local function recordTime() redis.call('ZADD', cooldownsKey, -now, TIME_MEMBER) end

-- All cooldowns, as a list of members and of the times at which they end.
local function readCooldowns()
  local entries, cooldowns = redis.call('ZRANGE', cooldownsKey, 0, -1, 'WITHSCORES'), {}
  for i = 1, #entries, 2 do
    if entries[i] ~= TIME_MEMBER then cooldowns[#cooldowns + 1] = { entries[i], tonumber(entries[i + 1]) } end
  end
  return cooldowns
end

-- If the time of Redis has gone back, all cooldowns go back with it, because otherwise they would be longer by as much.
local backMs = -now - tonumber(redis.call('ZSCORE', cooldownsKey, TIME_MEMBER) or -now)
if backMs > 0 then
  for _, cooldown in ipairs(readCooldowns()) do
    redis.call('ZADD', cooldownsKey, cooldown[2] - backMs, cooldown[1])
  end
  recordTime()
end

redis.call('ZREMRANGEBYSCORE', cooldownsKey, 0, now)

local function cooldownEnd() return tonumber(redis.call('ZSCORE', cooldownsKey, member) or '0') end

local function publishCooldown(left) publish({ rest = pool, member = member, left = left, node = node }) end
