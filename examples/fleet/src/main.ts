// `npm run example:fleet`: four nodes, a server, Redis and PostgreSQL. Each of them fails once.
import { serveFleet } from './dashboard.js'
import { work } from './node.js'
import { tell } from './story.js'
import { serveOrders } from './target.js'

const [, script = '', here = '.', role] = process.argv

/** Each process can also be started alone, as in compose.yaml: `npm run example:fleet -- node`. */
const parts: Record<string, () => Promise<void>> = {
  node: () => work(here),
  server: () => serveFleet(here),
  target: () => serveOrders(),
}

await (parts[role ?? ''] ?? (() => tell(script, here, process.argv.slice(3))))()
