import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { DeadLetter } from '../../../records/src/dead-letter.js'
import { openPostgres, type PostgresStore } from '../../../store/src/postgres/index.js'
import { at, letter } from '../../../store/test/contract/records.js'
import { tempFolder } from '../../../store/test/place.js'
import { LONG_TIMEOUTS, PostgresServer } from '../../../store/test/postgres-server.js'

// The spill took every rejected write for a fault of the entry where the database still answered reads. It then left the
// entry out for the life of the process, though the database had recovered.

const NO_LIMIT = { maxEntries: 1_000_000 }
const server = (await PostgresServer.start()) as PostgresServer

describe.skipIf(server === undefined)(
  'dead letters in the disk fallback while PostgreSQL accepts reads and rejects writes',
  () => {
    afterAll(() => server.remove())

    let schemas = 0
    let schema: string
    let dir: string
    let said: string[]
    beforeEach(async () => {
      schema = `spilled_${schemas++}`
      dir = await tempFolder()
      said = []
    })

    async function opened(): Promise<PostgresStore> {
      const store = openPostgres(server.url, {
        schema,
        spillDir: join(dir, 'spill'),
        warn: (line) => said.push(line),
        ...LONG_TIMEOUTS,
        addTimeout: 30_000,
      })
      onTestFinished(() => store.close())
      await store.open()
      return store
    }

    /** Makes each insert of a row that fits fail with a SQLSTATE. Gives what ends that. */
    async function rejecting(state: string, condition = 'true'): Promise<() => Promise<unknown>> {
      await server.admin(`CREATE OR REPLACE FUNCTION ${schema}.reject() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF ${condition} THEN RAISE EXCEPTION 'rejected by a test' USING ERRCODE = '${state}'; END IF; RETURN NEW; END $$;
      CREATE OR REPLACE TRIGGER reject BEFORE INSERT ON ${schema}.dead_letters FOR EACH ROW EXECUTE FUNCTION ${schema}.reject()`)
      return () => server.admin(`DROP FUNCTION ${schema}.reject() CASCADE`)
    }

    const add = async (store: PostgresStore, ...entries: DeadLetter[]) => {
      const added = await store.deadLetters.add(entries, NO_LIMIT)
      expect(added.map(({ result }) => result)).toEqual(entries.map(() => 'added'))
    }
    const listed = async (store: PostgresStore) =>
      (await store.deadLetters.list(undefined, at(9))).items.map(({ dlqId }) => dlqId)
    const heard = (word: string) => expect.poll(() => said.join('\n')).toContain(word)
    const arrived = (store: PostgresStore, ids: string[]) => expect.poll(() => listed(store)).toEqual(ids)
    /** Resolves when the spill has tried to move twice, and was rejected. */
    async function triedTwice() {
      for (let tries = 0; tries < 2; tries++) {
        const [now] = await server.admin('SELECT clock_timestamp()::text AS at')
        const rejected = () =>
          server.admin(`SELECT 1 FROM pg_stat_activity WHERE application_name = 'holdfast' AND query = 'ROLLBACK'
          AND state_change > '${String(now?.['at'])}'`)
        await expect.poll(async () => (await rejected()).length).toBeGreaterThan(0)
      }
    }

    it('are all listed after a read-only database accepts writes again', async () => {
      const store = await opened()
      await server.admin('ALTER ROLE postgres SET default_transaction_read_only = on')
      try {
        await server.terminate()
        for (const n of [1, 2, 3, 4]) await add(store, letter(n))
        await triedTwice()
        expect(await listed(store)).toEqual([])
        expect((await store.deadLetters.stats(at(9))).total).toBe(0)
        expect(await store.deadLetters.get('dlq_3', at(9))).toMatchObject({ dlqId: 'dlq_3' })
        const lease = store.deadLetters.lease('dlq_3', 'me', at(20), at(10))
        await expect(lease).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      } finally {
        await server.admin(
          'BEGIN; SET TRANSACTION READ WRITE; ALTER ROLE postgres RESET default_transaction_read_only; COMMIT',
        )
        await server.terminate()
      }
      await arrived(store, ['dlq_1', 'dlq_2', 'dlq_3', 'dlq_4'])
      expect(said.filter((line) => line.includes('stays in'))).toEqual([])
    })

    it.each([
      ['53100', 'its disk is full'],
      ['40001', 'transactions cannot be serialized'],
      ['57014', 'statements are cancelled'],
      ['XX000', 'it reports an internal error'],
      ['P0001', 'a trigger raises an exception'],
    ])('are all listed after the cause is removed: %s, %s', async (state) => {
      const store = await opened()
      const end = await rejecting(state)
      for (const n of [1, 2, 3, 4]) await add(store, letter(n))
      await triedTwice()
      expect(await listed(store)).toEqual([])
      await end()
      await arrived(store, ['dlq_1', 'dlq_2', 'dlq_3', 'dlq_4'])
      expect(said.filter((line) => line.includes('stays in'))).toEqual([])
    })

    it('are all listed after connections were killed during each write', async () => {
      const store = await opened()
      await server.admin(`CREATE FUNCTION ${schema}.die() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;
      CREATE TRIGGER die BEFORE INSERT ON ${schema}.dead_letters FOR EACH ROW EXECUTE FUNCTION ${schema}.die()`)
      for (const n of [1, 2, 3]) await add(store, letter(n))
      await heard('dead letters are stored in')
      await store.deadLetters.list(undefined, at(9))
      await server.admin(`DROP FUNCTION ${schema}.die() CASCADE`)
      await arrived(store, ['dlq_1', 'dlq_2', 'dlq_3'])
      expect(said.filter((line) => line.includes('stays in'))).toEqual([])
    })

    it.each(['22021', '23514', '54000'])(
      'are moved except for the one that the database cannot store (%s), which stays and is reported once',
      async (state) => {
        const store = await opened()
        await rejecting('53100')
        await add(store, letter(1), letter(2), letter(3))
        // Replaced at once: the spill must not move the entry in between.
        const healed = await rejecting(state, `NEW.dlq_id = 'dlq_2'`)
        await arrived(store, ['dlq_1', 'dlq_3'])
        // A later outage does not have it reported again.
        await add(store, letter(4), letter(5))
        // Polled: while the move is still ending, new entries are spilled behind it.
        await arrived(store, ['dlq_1', 'dlq_3', 'dlq_4', 'dlq_5'])
        expect(said.filter((line) => line.includes('dlq_2 stays in'))).toHaveLength(1)
        expect(await store.deadLetters.get('dlq_2', at(9))).toMatchObject({ dlqId: 'dlq_2' })
        const leased = store.deadLetters.lease('dlq_2', 'me', at(20), at(10))
        await expect(leased).rejects.toMatchObject({
          code: 'STORE_UNAVAILABLE',
          message: expect.stringContaining('on the local disk') as string,
        })
        await store.close()
        await healed()
        await arrived(await opened(), ['dlq_1', 'dlq_2', 'dlq_3', 'dlq_4', 'dlq_5'])
      },
    )

    it('are moved except for one that a trigger rejects, which follows when the trigger is dropped', async () => {
      const store = await opened()
      await rejecting('53100')
      await add(store, ...Array.from({ length: 20 }, (_, n) => letter(n + 10)))
      // Replaced at once: the spill must not move the entry in between.
      const healed = await rejecting('P0001', `NEW.dlq_id = 'dlq_17'`)
      const ids = Array.from({ length: 20 }, (_, n) => `dlq_${n + 10}`)
      await expect.poll(() => listed(store)).toHaveLength(19)
      expect(await store.deadLetters.get('dlq_17', at(9))).toMatchObject({ dlqId: 'dlq_17' })
      await healed()
      await expect.poll(async () => (await listed(store)).toSorted()).toEqual(ids)
      expect(said.filter((line) => line.includes('stays in'))).toEqual([])
    })

    it('include one that the database could not store, and not the others of its batch', async () => {
      const store = await opened()
      const healed = await rejecting('22P05', `NEW.dlq_id = 'dlq_2'`)
      await add(store, letter(1), letter(2), letter(3))
      expect(await listed(store)).toEqual(['dlq_1', 'dlq_3'])
      expect(await store.deadLetters.get('dlq_2', at(9))).toMatchObject({ dlqId: 'dlq_2' })
      await heard('dlq_2 stays in')
      await healed()
      // Asked for by its id, it is tried again.
      expect(await store.deadLetters.lease('dlq_2', 'me', at(20), at(10))).toMatchObject({ result: 'leased' })
    })

    it('can be purged by id while they are on the local disk', async () => {
      const store = await opened()
      await rejecting('22P05', `NEW.dlq_id = 'dlq_1'`)
      await add(store, letter(1), letter(2))
      expect(await store.deadLetters.purge({ ids: ['dlq_1'] }, at(9))).toBe(1)
      expect(await store.deadLetters.get('dlq_1', at(9))).toBeUndefined()
    })
  },
)
