import type { Keyspace, StreamEntry } from './keyspace.js'
import { NOT_AN_INTEGER, RedisErrorReply, type RedisReply } from './reply.js'

/** The context of a command. */
interface CommandContext {
  readonly keyspace: Keyspace
  /** The time of the server, in milliseconds since 1970, with fractions. It does not change during a script. */
  readonly now: number
  /** Sends a message to all subscribers of a channel. Returns how many there are. */
  publish(channel: string, text: string): number
}

interface RedisCommand {
  /** Whether it is rejected by a replica. */
  readonly isWrite: boolean
  /** Whether it is rejected when the memory is full. */
  readonly needsMemory: boolean
  run(context: CommandContext, args: readonly string[]): RedisReply
}

const read = (run: RedisCommand['run']): RedisCommand => ({ isWrite: false, needsMemory: false, run })
const write = (run: RedisCommand['run']): RedisCommand => ({ isWrite: true, needsMemory: true, run })
const remove = (run: RedisCommand['run']): RedisCommand => ({ isWrite: true, needsMemory: false, run })

function parseInteger(text: string | undefined): number {
  if (text === undefined || !/^(0|-?[1-9]\d{0,17})$/.test(text)) throw new RedisErrorReply(NOT_AN_INTEGER)
  return Number(text)
}

function parseScore(text: string): number {
  const number = /^[+-]?(inf|infinity)$/i.test(text)
    ? Number(`${text.startsWith('-') ? '-' : ''}Infinity`)
    : Number(text)
  if (text.trim() === '' || Number.isNaN(number)) throw new RedisErrorReply('ERR value is not a valid float')
  return number
}

/** A limit of a range of scores: `(` excludes the value. */
function parseLimit(text: string): { value: number; isExclusive: boolean } {
  const isExclusive = text.startsWith('(')
  return { value: parseScore(isExclusive ? text.slice(1) : text), isExclusive }
}

function createRange(min: string, max: string): (score: number) => boolean {
  const [low, high] = [parseLimit(min), parseLimit(max)]
  return (score) =>
    (low.isExclusive ? score > low.value : score >= low.value) &&
    (high.isExclusive ? score < high.value : score <= high.value)
}

/** The members of a sorted set by score, and by their bytes if scores are equal. */
const sortMembers = (scores: Iterable<readonly [string, number]>): (readonly [string, number])[] =>
  [...scores].sort(([a, x], [b, y]) => x - y || Buffer.compare(Buffer.from(a), Buffer.from(b)))

const formatScore = (score: number): string =>
  Number.isFinite(score) ? String(score) : score > 0 ? 'inf' : '-inf'

/** How many entries a node of a stream has. `MAXLEN ~` deletes whole nodes. */
const STREAM_NODE_ENTRIES = 100

const formatId = ({ ms, seq }: { ms: number; seq: number }): string => `${ms}-${seq}`

function parseStreamId(text: string, missingSeq: number): { ms: number; seq: number } {
  if (text === '-') return { ms: 0, seq: 0 }
  if (text === '+') return { ms: Number.POSITIVE_INFINITY, seq: Number.POSITIVE_INFINITY }
  const [, ms, seq] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? []
  if (ms === undefined)
    throw new RedisErrorReply('ERR Invalid stream ID specified as stream command argument')
  return { ms: Number(ms), seq: seq === undefined ? missingSeq : Number(seq) }
}

const compareIds = (a: { ms: number; seq: number }, b: { ms: number; seq: number }): number =>
  a.ms - b.ms || a.seq - b.seq

/** A number of a hash, for an increment. */
function parseHashNumber(text: string | undefined): number {
  if (text === undefined) return 0
  if (!/^(0|-?[1-9]\d{0,17})$/.test(text)) throw new RedisErrorReply('ERR hash value is not an integer')
  return Number(text)
}

function addToStream({ keyspace, now }: CommandContext, args: readonly string[]): RedisReply {
  const [key = '', option, approximate, max, id, ...fields] = args
  // The only form that the fleet sends.
  if (option !== 'MAXLEN' || approximate !== '~' || id !== '*' || fields.length % 2 !== 0)
    throw new RedisErrorReply('ERR syntax error')
  const maxEntries = parseInteger(max)
  const { data } = keyspace.getOrCreate(key, 'stream', now)
  const ms = Math.max(Math.floor(now), data.last.ms)
  const entry: StreamEntry = { ms, seq: ms === data.last.ms ? data.last.seq + 1 : 0, fields }
  data.entries.push(entry)
  data.last = { ms, seq: entry.seq }
  while (data.entries.length - STREAM_NODE_ENTRIES >= maxEntries) data.entries.splice(0, STREAM_NODE_ENTRIES)
  return formatId(entry)
}

function readStream({ keyspace, now }: CommandContext, args: readonly string[]): RedisReply {
  const [key = '', start = '-', end = '+', option, count] = args
  const limit = option?.toUpperCase() === 'COUNT' ? parseInteger(count) : Number.POSITIVE_INFINITY
  const isExclusive = start.startsWith('(')
  const first = parseStreamId(isExclusive ? start.slice(1) : start, 0)
  const last = parseStreamId(end, Number.POSITIVE_INFINITY)
  const entries = keyspace.get(key, 'stream', now)?.data.entries ?? []
  return entries
    .filter((entry) => {
      const order = compareIds(entry, first)
      return (isExclusive ? order > 0 : order >= 0) && compareIds(entry, last) <= 0
    })
    .slice(0, limit)
    .map((entry) => [formatId(entry), entry.fields])
}

function addToSortedSet({ keyspace, now }: CommandContext, args: readonly string[]): RedisReply {
  const [key = '', ...rest] = args
  const isGreaterOnly = rest[0]?.toUpperCase() === 'GT'
  const [score = '', member = ''] = isGreaterOnly ? rest.slice(1) : rest
  const value = parseScore(score)
  const { data } = keyspace.getOrCreate(key, 'zset', now)
  const before = data.get(member)
  if (before === undefined || !isGreaterOnly || value > before) data.set(member, value)
  return before === undefined ? 1 : 0
}

function setFields({ keyspace, now }: CommandContext, args: readonly string[]): RedisReply {
  const [key = '', ...pairs] = args
  if (pairs.length === 0 || pairs.length % 2 !== 0)
    throw new RedisErrorReply("ERR wrong number of arguments for 'hset' command")
  const { data } = keyspace.getOrCreate(key, 'hash', now)
  let added = 0
  for (let i = 0; i < pairs.length; i += 2) {
    if (!data.has(pairs[i] as string)) added++
    data.set(pairs[i] as string, pairs[i + 1] as string)
  }
  return added
}

function deleteFields(
  { keyspace, now }: CommandContext,
  [key = '', ...fields]: readonly string[],
): RedisReply {
  const data = keyspace.getForChange(key, 'hash', now)?.data
  const deleted = fields.filter((field) => data?.delete(field)).length
  keyspace.deleteIfEmpty(key, now)
  return deleted
}

function deleteMembers(
  { keyspace, now }: CommandContext,
  key: string,
  isDeleted: (member: string, score: number) => boolean,
): number {
  const data = keyspace.getForChange(key, 'zset', now)?.data
  const members = [...(data ?? [])].filter(([member, score]) => isDeleted(member, score))
  for (const [member] of members) data?.delete(member)
  keyspace.deleteIfEmpty(key, now)
  return members.length
}

function setText({ keyspace, now }: CommandContext, args: readonly string[]): RedisReply {
  const [key = '', text = '', option, duration] = args
  const expiresAt = option?.toUpperCase() === 'PX' ? Math.floor(now) + parseInteger(duration) : undefined
  keyspace.delete(key, now)
  keyspace.getOrCreate(key, 'string', now).data.text = text
  keyspace.setExpiry(key, expiresAt, now)
  return 'OK'
}

function setExpiry({ keyspace, now }: CommandContext, [key = '', duration]: readonly string[]): RedisReply {
  const ms = parseInteger(duration)
  if (ms <= 0) return keyspace.delete(key, now) ? 1 : 0
  return keyspace.setExpiry(key, Math.floor(now) + ms, now) ? 1 : 0
}

function remainingTime({ keyspace, now }: CommandContext, [key = '']: readonly string[]): RedisReply {
  const record = keyspace.find(key, now)
  if (record === undefined) return -2
  return record.expiresAt === undefined ? -1 : Math.max(0, record.expiresAt - Math.floor(now))
}

/** The commands that the fleet and its scripts send, and a few with which a test prepares and reads data. */
export const COMMANDS: ReadonlyMap<string, RedisCommand> = new Map(
  Object.entries<RedisCommand>({
    TIME: read(({ now }) => [
      String(Math.floor(now / 1000)),
      String(Math.floor((now - Math.floor(now / 1000) * 1000) * 1000)),
    ]),
    PUBLISH: read(({ publish }, [channel = '', text = '']) => publish(channel, text)),
    GET: read(({ keyspace, now }, [key = '']) => keyspace.get(key, 'string', now)?.data.text ?? null),
    SET: write(setText),
    DEL: remove(({ keyspace, now }, keys) => keys.filter((key) => keyspace.delete(key, now)).length),
    PEXPIRE: remove(setExpiry),
    PTTL: read(remainingTime),
    TYPE: read(({ keyspace, now }, [key = '']) => keyspace.find(key, now)?.type ?? 'none'),
    HGET: read(
      ({ keyspace, now }, [key = '', field = '']) => keyspace.get(key, 'hash', now)?.data.get(field) ?? null,
    ),
    HGETALL: read(({ keyspace, now }, [key = '']) => {
      const reply: string[] = []
      for (const [field, value] of keyspace.get(key, 'hash', now)?.data ?? []) reply.push(field, value)
      return reply
    }),
    HSET: write(setFields),
    HDEL: remove(deleteFields),
    HINCRBY: write(({ keyspace, now }, [key = '', field = '', increment]) => {
      const amount = parseInteger(increment)
      const { data } = keyspace.getOrCreate(key, 'hash', now)
      const sum = parseHashNumber(data.get(field)) + amount
      data.set(field, String(sum))
      return sum
    }),
    ZADD: write(addToSortedSet),
    ZCARD: read(({ keyspace, now }, [key = '']) => keyspace.get(key, 'zset', now)?.data.size ?? 0),
    ZSCORE: read(({ keyspace, now }, [key = '', member = '']) => {
      const score = keyspace.get(key, 'zset', now)?.data.get(member)
      return score === undefined ? null : formatScore(score)
    }),
    ZCOUNT: read(({ keyspace, now }, [key = '', min = '', max = '']) => {
      const isInRange = createRange(min, max)
      return [...(keyspace.get(key, 'zset', now)?.data.values() ?? [])].filter(isInRange).length
    }),
    ZRANGE: read(({ keyspace, now }, [key = '', first, last, option]) => {
      if (first !== '0' || last !== '-1') throw new RedisErrorReply('ERR syntax error')
      const members = sortMembers(keyspace.get(key, 'zset', now)?.data ?? new Map())
      const hasScores = option?.toUpperCase() === 'WITHSCORES'
      return members.flatMap(([member, score]) => (hasScores ? [member, formatScore(score)] : [member]))
    }),
    ZRANGEBYSCORE: read(({ keyspace, now }, [key = '', min = '', max = '']) => {
      const isInRange = createRange(min, max)
      const members = [...(keyspace.get(key, 'zset', now)?.data ?? [])].filter(([, score]) =>
        isInRange(score),
      )
      return sortMembers(members).map(([member]) => member)
    }),
    ZREM: remove((context, [key = '', ...members]) =>
      deleteMembers(context, key, (member) => members.includes(member)),
    ),
    ZREMRANGEBYSCORE: remove((context, [key = '', min = '', max = '']) => {
      const isInRange = createRange(min, max)
      return deleteMembers(context, key, (_, score) => isInRange(score))
    }),
    XADD: write(addToStream),
    XLEN: read(({ keyspace, now }, [key = '']) => keyspace.get(key, 'stream', now)?.data.entries.length ?? 0),
    XRANGE: read(readStream),
  }),
)
