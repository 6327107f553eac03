import { luaNumber, luaText } from '../lua-number.js'
import type { ScriptFunction } from '../script-context.js'

const BUCKETS = 32

/** `borrow-retries.lua` */
export const borrowRetries: ScriptFunction = ({ keys, args, now, call }) => {
  const [windowKey = ''] = keys
  const [newCalls = ''] = args
  const [wanted = 0, ratio = 0, reservePerSecond = 0, windowMs = 0] = args.slice(1).map(luaNumber)
  const bucket = Math.floor(now / (windowMs / BUCKETS))
  call('HINCRBY', windowKey, `c${luaText(bucket)}`, newCalls)

  let [calls, lentBefore] = [0, 0]
  const entries = call('HGETALL', windowKey) as string[]
  for (let i = 0; i < entries.length; i += 2) {
    const [field = '', amount = 0] = [entries[i], luaNumber(entries[i + 1])]
    const entryBucket = luaNumber(field.slice(1)) ?? 0
    if (entryBucket <= bucket - BUCKETS || entryBucket > bucket) call('HDEL', windowKey, field)
    else if (field.startsWith('c')) calls += amount
    else lentBefore += amount
  }
  const left = Math.floor(ratio * calls + (reservePerSecond * windowMs) / 1000 - lentBefore)
  const lent = Math.max(0, Math.min(left, wanted))
  if (lent > 0) call('HINCRBY', windowKey, `r${luaText(bucket)}`, lent)
  call('PEXPIRE', windowKey, Math.ceil(windowMs * 2))
  return [lent, Math.max(0, left - lent)]
}

/** `append-events.lua` */
export const appendEvents: ScriptFunction = ({ keys, args, call }) => {
  const [streamKey = ''] = keys
  const [node = '', maxEvents = '', ttlMs = '', ...events] = args
  for (const event of events)
    call('XADD', streamKey, 'MAXLEN', '~', maxEvents, '*', 'node', node, 'event', event)
  call('PEXPIRE', streamKey, ttlMs)
  return 1
}

/** `write-probe.lua` */
export const writeProbe: ScriptFunction = ({ keys: [key = ''], call }) => {
  call('SET', key, '1', 'PX', 10_000)
  return 1
}
