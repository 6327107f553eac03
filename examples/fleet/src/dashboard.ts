import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { Holdfast } from '@holdfast/runtime'
import { createToken, serve } from '@holdfast/server'

/** The server process: REST API, metrics and dashboard. It takes no orders. */
export async function serveFleet(here: string): Promise<void> {
  const { CONFIG = join(here, 'holdfast.yaml'), PORT = '0', HOST: host = '127.0.0.1' } = process.env
  const hf = await Holdfast.open(CONFIG)
  // A server that other machines can reach requires a token.
  if (host !== '127.0.0.1') {
    const name = `guest-${randomUUID()}`
    const { token } = await createToken(hf, { name, role: 'admin', by: 'the example' })
    console.log(`sign in with ${token}`)
  }
  const server = await serve(hf, { port: Number(PORT), host })
  console.log(`the dashboard is at ${server.url}`)
  process.send?.({ ready: server.url })
  process.on('disconnect', () => process.exit())
}
