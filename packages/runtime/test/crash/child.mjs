// A process of main.mjs that is about to be killed.
import { createWork } from './work.mjs'

const [bundle, url, name, seed, entries, hour] =
  /** @type {[string, string, string, string, string, string]} */ (
    /** @type {unknown} */ (process.argv.slice(2))
  )
const { openStore } = await import(bundle)
const store = await openStore(url)
await createWork(store, {
  name,
  seed: Number(seed),
  entries: Number(entries),
  hour: Number(hour),
}).addAndReplay()
await store.close()
