import { onTestFinished } from 'vitest'
import { parseAddress } from '../src/postgres/address.js'
import { PostgresDatabase } from '../src/postgres/database.js'
import type { PostgresDriver } from '../src/postgres/driver.js'
import { migrate } from '../src/postgres/migrations.js'
import { LONG_TIMEOUTS } from './long-timeouts.js'

/** Opens a database with the tables of a store in a schema, until the end of the test. */
export async function openMigratedDatabase(
  url: string,
  schema: string,
  driver?: PostgresDriver,
): Promise<PostgresDatabase> {
  const options = { connections: 4, ...LONG_TIMEOUTS, driver }
  const database = new PostgresDatabase(parseAddress(url, schema), options)
  await database.open()
  onTestFinished(() => database.close())
  await migrate(database)
  return database
}
