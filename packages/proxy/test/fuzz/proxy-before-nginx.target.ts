import { guard } from 'holdfast'
import { startNginx } from '../../../../scripts/servers/http-proxies.mjs'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { startProxy } from '../../src/index.js'
import { CountingTarget, exchange, rejectNames } from './connection.js'
import { FIRST_ID, fillMarks, REQUEST_DICTIONARY, requestStreams } from './http-requests.js'
import { repositoryFolder } from './repository.js'
import { parseStrictly } from './strict-http.js'

const LANES = 8

/** Bytes of a client of the proxy, with nginx as the server: no request arrives behind nginx that the client did not send. */
export const target: FuzzTarget = {
  name: 'proxy-before-nginx',
  cases: requestStreams,
  dictionary: REQUEST_DICTIONARY,
  concurrency: LANES,
  async open() {
    const targets = await Promise.all(Array.from({ length: LANES }, () => CountingTarget.start()))
    const nginx = await startNginx(
      repositoryFolder(),
      targets.map(({ port }) => port),
    )
    if (typeof nginx === 'string') {
      await Promise.all(targets.map((counting) => counting.close()))
      return nginx
    }
    const once = guard({ retry: false })
    const proxy = await startProxy({
      port: 0,
      allowPrivateTargets: true,
      guard: () => once,
      resolve: rejectNames,
    })
    let id = FIRST_ID
    return {
      async check(bytes, lane) {
        const counting = targets[lane] as CountingTarget
        const sent = fillMarks(bytes, nginx.ports[lane] as number, ++id)
        counting.expect(id, parseStrictly(sent).requests)
        await exchange(proxy.port, sent)
        counting.verify()
      },
      async close() {
        await proxy.close({ timeout: 1 })
        await nginx.close()
        await Promise.all(targets.map((counting) => counting.close()))
        if (id - FIRST_ID > 500 && targets.every(({ arrivals }) => arrivals === 0))
          throw new Error('no request arrived behind nginx')
      },
    }
  },
}
