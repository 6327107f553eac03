import { createWork, say } from './work.mjs'

/**
 * The program of a process that kills.mjs kills. Before each phase it writes the name of the phase to stdout.
 *
 * @param {(location: string, spillDir: string) => any} createStore
 */
export async function runProgram(createStore) {
  const [location, spillDir, options] = /** @type {[string, string, string]} */ (
    /** @type {unknown} */ (process.argv.slice(-3))
  )
  say('opening')
  const store = createStore(location, spillDir)
  await store.open()
  const work = createWork(store, JSON.parse(options))
  say('working')
  await work.addAndReplay()
  say('deleting')
  await work.purge()
  say('closing')
  await store.close()
}
