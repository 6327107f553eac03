export type { SimulatedPostgresHost } from './postgres/driver.js'
export {
  createSimulatedPostgres,
  type PostgresCommand,
  type PostgresFault,
  type SimulatedPostgres,
} from './postgres/server.js'
export type { PostgresObserver } from './postgres/session.js'
export { createSimulatedPostgresStore, type SimulatedStoreOptions } from './postgres/store.js'
export {
  createRedisHost,
  createSimulatedRedisClient,
  createSimulatedRedisDriver,
  type SimulatedClientOptions,
  type SimulatedRedisHost,
} from './redis/client.js'
export {
  createSimulatedRedis,
  type RedisFault,
  type RedisKeyDump,
  type RedisLoss,
  type RedisResult,
  type SimulatedRedis,
} from './redis/server.js'
