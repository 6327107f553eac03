import { fileURLToPath } from 'node:url'
import { findRedis, RedisServer } from '../../../scripts/servers/redis.mjs'

const program = await findRedis(fileURLToPath(new URL('../../..', import.meta.url)))

/** The reason why tests with a real Redis are skipped; undefined if they run. */
export const missingRedis: string | undefined = typeof program === 'string' ? program : undefined

if (missingRedis !== undefined) console.warn(`tests with a real Redis are SKIPPED: ${missingRedis}`)

/** Starts a Redis that writes nothing to the disk. */
export async function startRedis(): Promise<RedisServer> {
  if (typeof program === 'string') throw new Error(program)
  return RedisServer.start(program)
}
