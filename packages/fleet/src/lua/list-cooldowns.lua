-- Lists the cooldowns of a pool.
--
-- KEYS: see cooldown-prelude.lua
--
-- Result: { { member, milliseconds that are left }, … }

local entries = redis.call('ZRANGE', cooldownsKey, 0, -1, 'WITHSCORES')
local cooldowns = {}
for i = 1, #entries, 2 do cooldowns[#cooldowns + 1] = { entries[i], tonumber(entries[i + 1]) - now } end
return cooldowns
