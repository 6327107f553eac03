import { luaNumber } from '../lua-number.js'
import type { ScriptFunction } from '../script-context.js'

const DAY_MS = 86_400_000

/** `heartbeat.lua` */
export const heartbeat: ScriptFunction = ({ keys, args, now, call, publish }) => {
  const [liveKey = '', recordsKey = ''] = keys
  const [node = '', record = '', ttlMs] = args
  const isKnown = call('ZSCORE', liveKey, node) !== null
  call('ZADD', liveKey, now + (luaNumber(ttlMs) ?? 0), node)
  call('HSET', recordsKey, node, record)
  for (const expired of call('ZRANGEBYSCORE', liveKey, '-inf', now) as string[]) {
    call('ZREM', liveKey, expired)
    call('HDEL', recordsKey, expired)
    publish({ left: true, node: expired })
  }
  if (!isKnown) publish({ joined: true, node })
  call('PEXPIRE', liveKey, DAY_MS)
  call('PEXPIRE', recordsKey, DAY_MS)
  return [isKnown ? 1 : 0, call('ZCARD', liveKey), now]
}

/** `count-live.lua` */
export const countLive: ScriptFunction = ({ keys, args, now, call }) => {
  const [[liveKey = ''], [node = '']] = [keys, args]
  const live = call('ZCOUNT', liveKey, `(${now}`, '+inf')
  return [live, call('ZSCORE', liveKey, node) === null ? 0 : 1]
}

/** `filter-live.lua` */
export const filterLive: ScriptFunction = ({ keys, args, now, call }) => {
  const [liveKey = ''] = keys
  return args.filter((node) => Number(call('ZSCORE', liveKey, node) ?? 0) > now)
}

/** `leave.lua` */
export const leave: ScriptFunction = ({ keys, args, call, publish }) => {
  const [liveKey = '', recordsKey = ''] = keys
  const [node = ''] = args
  call('ZREM', liveKey, node)
  call('HDEL', recordsKey, node)
  publish({ left: true, node })
  return 1
}
