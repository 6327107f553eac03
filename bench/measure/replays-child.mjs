// A worker process that replays dead letters in one of several ways, as its parent says. It says when it is ready, begins when
// it is told to, and ends when it is told to.
import { once } from 'node:events'
import pg from 'pg'

const [how = '', url = '', bundle = '', config = ''] = process.argv.slice(2)
const say = (/** @type {string} */ word) => process.send?.(word)
const told = (/** @type {string} */ word) =>
  new Promise((resolve) => process.on('message', (message) => message === word && resolve(undefined)))

/** What is written by hand: one entry in each transaction, which holds its row to the end. */
async function plain() {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  say('ready')
  await told('go')
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
  await client.query('COMMIT')
  say('done')
  await client.end()
}

async function holdfast() {
  const { Holdfast } = await import(bundle)
  const hf = await Holdfast.open({ config: JSON.parse(config), store: url })
  for (let n = 0; n < 10; n++) hf.deadLetters.handle(`operation_${n}`, () => undefined)
  const stop = new AbortController()
  say('ready')
  await told('go')
  if (how === 'batch') {
    await hf.deadLetters.replayBatch()
    say('done')
  } else {
    const working = hf.deadLetters.work({ signal: stop.signal })
    await told('end')
    stop.abort()
    await working
  }
  await hf.close()
}

await (how === 'plain' ? plain() : holdfast())
if (process.connected) process.disconnect()
void once
