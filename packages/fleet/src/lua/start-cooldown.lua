-- Starts the cooldown of a member, or extends it. A cooldown is never shortened.
--
-- KEYS and ARGV[1] to ARGV[3]: see cooldown-prelude.lua
-- ARGV[4]  milliseconds
--
-- Result: 1
--
-- Publishes { rest = pool, member = member, left = milliseconds, node = node } if the cooldown has changed.

local left = tonumber(ARGV[4])

if now + left > cooldownEnd() then
  redis.call('ZADD', cooldownsKey, now + left, member)
  recordTime()
  redis.call('PEXPIRE', cooldownsKey, math.max(left, redis.call('PTTL', cooldownsKey)))
  publishCooldown(left)
end
return 1
