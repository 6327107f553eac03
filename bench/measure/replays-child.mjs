// A worker process that replays dead letters in one of three ways. It says when it is ready, begins when it is told to, and,
// where it is told to, ends.
import { pathToFileURL } from 'node:url'
import pg from 'pg'

const [how = '', url = '', bundle = ''] = process.argv.slice(2)

/** @param {string} word */
const say = (word) => process.send?.(word)
/** @param {string} word @returns {Promise<void>} */
const told = (word) =>
  new Promise((resolve) => process.on('message', (message) => message === word && resolve()))

/** A queue written by hand: one entry per transaction, which locks its row until the end. */
async function plain() {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const go = told('go')
  say('ready')
  await go
  for (;;) {
    await client.query('BEGIN')
    const { rows } = await client.query(
      `SELECT seq, entry FROM letters WHERE status = 'pending' ORDER BY created_at, seq LIMIT 1 FOR UPDATE SKIP LOCKED`,
    )
    if (rows.length === 0) break
    JSON.parse(rows[0].entry)
    await client.query(`UPDATE letters SET status = 'completed' WHERE seq = $1`, [rows[0].seq])
    await client.query('COMMIT')
  }
  await client.query('ROLLBACK')
  await client.end()
}

async function holdfast() {
  const { Holdfast } = await import(pathToFileURL(bundle).href)
  const hf = await Holdfast.open({ config: {}, store: url })
  for (let n = 0; n < 10; n++) hf.deadLetters.handle(`operation_${n}`, () => {})
  const go = told('go')
  const end = told('end')
  say('ready')
  await go
  if (how === 'batch') await hf.deadLetters.replayBatch()
  else {
    const stop = new AbortController()
    const working = hf.deadLetters.work({ signal: stop.signal })
    await end
    stop.abort()
    await working
  }
  say('done')
  await hf.close()
}

if (how === 'plain') {
  await plain()
  say('done')
} else await holdfast()
process.disconnect?.()
