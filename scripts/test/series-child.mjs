// A series of which the second run never ends: `node series-child.mjs ROOT FILE`.
import { runSeries } from '../stability/series.mjs'

const [root = '', file = ''] = process.argv.slice(2)
let runs = 0
await runSeries({
  root,
  file,
  count: 3,
  resume: false,
  command: 'npm test',
  busy: 2,
  runOnce: async () => {
    runs++
    if (runs === 2) {
      process.send?.('in the second run')
      await new Promise((resolve) => setInterval(resolve, 2 ** 31 - 1))
    }
    return { seconds: 61, passed: 5, failed: 0, skipped: 1, failures: [] }
  },
})
