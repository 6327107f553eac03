import { afterAll, describe, expect, it } from 'vitest'
import { loadPostgresDriver, type PostgresDriver } from '../src/postgres/driver.js'
import { PostgresLayers } from '../src/postgres/layers.js'
import { COMMIT } from '../src/postgres/statements/connection.js'
import { at } from './contract/records.js'
import { openMigratedDatabase } from './migrated-database.js'
import { PostgresServer } from './postgres-server.js'

const server = await PostgresServer.start()
afterAll(() => server.remove())

/** A driver whose connection ends after the server has executed a COMMIT and before its reply, if `losesReply` returns true. */
async function createLossyDriver(losesReply: () => boolean): Promise<PostgresDriver> {
  const { Client, Pool } = await loadPostgresDriver()
  class LossyPool extends Pool {
    constructor(...args: ConstructorParameters<typeof Pool>) {
      super(...args)
      this.on('connect', (client) => {
        const query = client.query.bind(client)
        client.query = async (...statement) => {
          const result = await query(...statement)
          if (statement[0] !== COMMIT || !losesReply()) return result
          client.connection?.stream?.destroy()
          throw new Error('Connection terminated unexpectedly')
        }
      })
    }
  }
  return { Client, Pool: LossyPool }
}

/** The layers of a database, with a function that lets the reply to the next COMMIT get lost, and the number of lost replies. */
async function openLayers(schema: string) {
  let losesNext = false
  let lostReplies = 0
  const driver = await createLossyDriver(() => {
    if (!losesNext) return false
    losesNext = false
    lostReplies++
    return true
  })
  const layers = new PostgresLayers(await openMigratedDatabase(server.url, schema, driver))
  return {
    layers,
    loseNextReply: () => {
      losesNext = true
    },
    lostReplies: () => lostReplies,
  }
}

const version = (by: string) => ({ version: 1, by, at: at(1), layer: { policies: { [by]: {} } } })

describe('a live change in PostgreSQL whose COMMIT got no reply', () => {
  it('is acknowledged and stored once', async () => {
    const { layers, loseNextReply, lostReplies } = await openLayers('lost_layer_commit')
    loseNextReply()
    expect(await layers.append(version('ann'), 0)).toBe(true)
    expect(lostReplies()).toBe(1)
    expect((await layers.history()).map(({ by }) => by)).toEqual(['ann'])
  })

  it('is reported as a conflict if another process had stored the version before', async () => {
    const { layers, loseNextReply, lostReplies } = await openLayers('lost_layer_conflict')
    await layers.append(version('bob'), 0)
    loseNextReply()
    expect(await layers.append(version('ann'), 0)).toBe(false)
    expect(lostReplies()).toBe(1)
    expect((await layers.history()).map(({ by }) => by)).toEqual(['bob'])
  })
})
