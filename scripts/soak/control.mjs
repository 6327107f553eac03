// The HTTP server through which the soak test controls a process that makes load.
import { createServer } from 'node:http'

/**
 * Serves actions by path. An action returns a value, which is sent as JSON.
 *
 * @param {Record<string, () => unknown>} actions
 */
export function serveControl(actions) {
  const server = createServer((request, response) => {
    const respond = async () => {
      const action = actions[request.url ?? '']
      if (action === undefined) throw new Error(`no action ${request.url}`)
      return (await action()) ?? {}
    }
    request.resume()
    respond().then(
      (value) => response.setHeader('connection', 'close').end(JSON.stringify(value)),
      (error) => {
        response.statusCode = 500
        response
          .setHeader('connection', 'close')
          .end(JSON.stringify({ problem: String(error?.stack ?? error) }))
      },
    )
  })
  server.listen(Number(process.env['SOAK_CONTROL_PORT']), '127.0.0.1', () => console.log('ready'))
}
