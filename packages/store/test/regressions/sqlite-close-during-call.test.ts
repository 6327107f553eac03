import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { folder, opened } from '../sqlite-place.js'
import { buildSqliteThread } from '../sqlite-thread-build.mjs'

const CACHE = join(import.meta.dirname, '../../../../.cache')

/** A thread that has not ended a call of `list` when it has closed the file, as with a call of several steps. */
async function slowThread(): Promise<URL> {
  await mkdir(CACHE, { recursive: true })
  const dir = await mkdtemp(join(CACHE, 'sqlite-close-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const program = pathToFileURL(await buildSqliteThread(dir))
  const entry = join(dir, 'slow.js')
  await writeFile(
    entry,
    `import ${JSON.stringify(program.href)}
    import { parentPort } from 'node:worker_threads'
    const lists = new Set()
    parentPort.on('message', ({ id, method }) => method === 'list' && lists.add(id))
    const post = parentPort.postMessage
    parentPort.postMessage = (response) => lists.has(response.id) || post.call(parentPort, response)`,
  )
  return pathToFileURL(entry)
}

it('rejects a call that a SQLite thread has not ended when the store is closed', async () => {
  const store = await opened(join(await folder(), 'holdfast.db'), { threadEntry: await slowThread() })
  const listed = store.events.list()
  const rejected = expect(listed).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', status: 503 })
  await store.close()
  await rejected
})
