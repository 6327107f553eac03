// `npm run test:simulation`: bundles the sources and simulates seeds.
//
//     npm run test:simulation -- --seeds 1000 --from 1     seeds 1 to 1000
//     npm run test:simulation -- --seed 42 --trace         one seed, with everything that happens
//     npm run test:simulation -- --scenario FILE           a scenario that was stored as JSON
//     npm run test:simulation -- --repeat-every 10         every tenth seed twice: both histories must be equal
import { spawnSync } from 'node:child_process'
import { renameSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bundleSimulation, V8_OPTIONS } from './bundle.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const bundle = fileURLToPath(new URL('../../.cache/simulation/main.mjs', import.meta.url))
// Other processes that simulate at the same time read the bundle, so it is replaced at once.
await bundleSimulation(root, `${bundle}.${process.pid}`)
renameSync(`${bundle}.${process.pid}`, bundle)
const { status } = spawnSync(
  process.execPath,
  ['--enable-source-maps', '--stack-trace-limit=30', ...V8_OPTIONS, bundle, ...process.argv.slice(2)],
  { stdio: 'inherit' },
)
process.exit(status ?? 1)
