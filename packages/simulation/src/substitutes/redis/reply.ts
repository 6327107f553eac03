/** A reply of Redis, in the form in which ioredis returns it. */
export type RedisReply = string | number | null | readonly RedisReply[]

/** An error reply. The text begins with its code: `WRONGTYPE …`. */
export class RedisErrorReply extends Error {
  override readonly name = 'ReplyError'
}

export const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value'
export const NOT_AN_INTEGER = 'ERR value is not an integer or out of range'
