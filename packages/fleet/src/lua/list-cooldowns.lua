-- Lists the cooldowns of a pool.
--
-- KEYS: see cooldown-prelude.lua
--
-- Result: { { member, milliseconds that are left }, … }

local cooldowns = {}
for i, cooldown in ipairs(readCooldowns()) do cooldowns[i] = { cooldown[1], cooldown[2] - now } end
return cooldowns
