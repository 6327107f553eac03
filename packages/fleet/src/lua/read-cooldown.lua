-- Reads the cooldown of a member.
--
-- KEYS and ARGV[1] to ARGV[3]: see cooldown-prelude.lua
--
-- Result: { { member, milliseconds that are left; 0 without a cooldown } }

return { { member, math.max(0, cooldownEnd() - now) } }
