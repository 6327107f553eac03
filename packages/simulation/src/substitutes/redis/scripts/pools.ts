import { luaNumber } from '../lua-number.js'
import type { ScriptContext, ScriptFunction } from '../script-context.js'

/** `eject-member.lua` */
export const ejectMember: ScriptFunction = ({ keys, args, call }) => {
  const [ejectedKey = ''] = keys
  const [id = '', epoch = '', ttlMs] = args
  call('ZADD', ejectedKey, 'GT', epoch, id)
  call('PEXPIRE', ejectedKey, Math.max(luaNumber(ttlMs) ?? 0, Number(call('PTTL', ejectedKey))))
  return 1
}

/** `readmit-member.lua` */
export const readmitMember: ScriptFunction = ({ keys, args, call }) => {
  const [ejectedKey = ''] = keys
  const [id = '', epoch] = args
  const ejectedEpoch = call('ZSCORE', ejectedKey, id)
  if (ejectedEpoch !== null && Number(ejectedEpoch) <= (luaNumber(epoch) ?? 0)) call('ZREM', ejectedKey, id)
  return 1
}

/** `list-ejected.lua` */
export const listEjected: ScriptFunction = ({ keys: [ejectedKey = ''], call }) =>
  call('ZRANGE', ejectedKey, 0, -1, 'WITHSCORES')

/** The member that has the time at which the last cooldown was set, negated. */
const TIME_MEMBER = ''

/** `cooldown-prelude.lua` */
function openCooldowns({ keys, args, now, call, publish }: ScriptContext) {
  const [cooldownsKey = ''] = keys
  const [node = '', pool = '', member = ''] = args
  const recordTime = () => call('ZADD', cooldownsKey, -now, TIME_MEMBER)
  const readCooldowns = () => {
    const entries = call('ZRANGE', cooldownsKey, 0, -1, 'WITHSCORES') as string[]
    return Array.from(
      { length: entries.length / 2 },
      (_, i) => [entries[2 * i] ?? '', Number(entries[2 * i + 1])] as const,
    ).filter(([name]) => name !== TIME_MEMBER)
  }
  const backMs = -now - Number(call('ZSCORE', cooldownsKey, TIME_MEMBER) ?? -now)
  if (backMs > 0) {
    for (const [name, end] of readCooldowns()) call('ZADD', cooldownsKey, end - backMs, name)
    recordTime()
  }
  call('ZREMRANGEBYSCORE', cooldownsKey, 0, now)
  return {
    cooldownsKey,
    member,
    recordTime,
    readCooldowns,
    cooldownEnd: () => Number(call('ZSCORE', cooldownsKey, member) ?? 0),
    publishCooldown: (left: number) => publish({ rest: pool, member, left, node }),
  }
}

/** `start-cooldown.lua` */
export const startCooldown: ScriptFunction = (context) => {
  const { cooldownsKey, member, recordTime, cooldownEnd, publishCooldown } = openCooldowns(context)
  const { now, call } = context
  const left = luaNumber(context.args[3]) ?? 0
  if (now + left > cooldownEnd()) {
    call('ZADD', cooldownsKey, now + left, member)
    recordTime()
    call('PEXPIRE', cooldownsKey, Math.max(left, Number(call('PTTL', cooldownsKey))))
    publishCooldown(left)
  }
  return 1
}

/** `end-cooldown.lua` */
export const endCooldown: ScriptFunction = (context) => {
  const { cooldownsKey, member, publishCooldown } = openCooldowns(context)
  context.call('ZREM', cooldownsKey, member)
  publishCooldown(0)
  return 1
}

/** `read-cooldown.lua` */
export const readCooldown: ScriptFunction = (context) => {
  const { member, cooldownEnd } = openCooldowns(context)
  return [[member, Math.max(0, cooldownEnd() - context.now)]]
}

/** `list-cooldowns.lua` */
export const listCooldowns: ScriptFunction = (context) =>
  openCooldowns(context)
    .readCooldowns()
    .map(([name, end]) => [name, end - context.now])
