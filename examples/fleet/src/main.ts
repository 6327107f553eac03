// `npm run example:fleet`: four nodes, Redis, PostgreSQL and a server, and everything broken once.
import { serveFleet } from './dashboard.js'
import { work } from './node.js'
import { tell } from './story.js'
import { serveOrders } from './target.js'

const [, script = '', here = '.', role] = process.argv

/** The parts also start one by one, as in compose.yaml: `npm run example:fleet -- node`. */
const parts: Record<string, () => Promise<void>> = {
  node: () => work(here),
  server: () => serveFleet(here),
  target: () => serveOrders(),
}

await (parts[role ?? ''] ?? (() => tell(script, here, process.argv.slice(3))))()
