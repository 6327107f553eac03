-- Ends the cooldown of a member.
--
-- KEYS and ARGV[1] to ARGV[3]: see cooldown-prelude.lua
--
-- Result: 1
--
-- Publishes { rest = pool, member = member, left = 0, node = node }.

redis.call('ZREM', cooldownsKey, member)
publishCooldown(0)
return 1
