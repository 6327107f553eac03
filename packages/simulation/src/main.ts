import { isMainThread } from 'node:worker_threads'
import { runSeeds } from './run-seeds.js'
import { superviseSeeds } from './supervise.js'

// A loop of promises or of code never returns to the event loop, so the seeds run in a thread that the main thread can end.
if (isMainThread) superviseSeeds(new URL(import.meta.url))
else await runSeeds()
