import { guard } from 'holdfast'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { startProxy } from '../../src/index.js'
import { turn } from '../helpers/until.js'
import { CountingTarget, exchange, rejectNames, statusesIn } from './connection.js'
import { FIRST_ID, fillMarks, REQUEST_DICTIONARY, requestStreams } from './http-requests.js'
import { parseStrictly } from './strict-http.js'

const LANES = 16

/** The statuses with which the proxy rejects bytes that are not a valid request. */
const REJECTIONS = [400, 408, 431, 501, 505]

/** Bytes of a client: the proxy forwards only requests that a strict reading of RFC 9112 finds in them, and rejects the others. */
export const target: FuzzTarget = {
  name: 'proxy-requests',
  cases: requestStreams,
  dictionary: REQUEST_DICTIONARY,
  concurrency: LANES,
  async open() {
    const targets = await Promise.all(Array.from({ length: LANES }, () => CountingTarget.start()))
    const once = guard({ retry: false })
    const proxy = await startProxy({
      port: 0,
      allowPrivateTargets: true,
      guard: () => once,
      resolve: rejectNames,
    })
    let id = FIRST_ID
    let cases = 0
    return {
      async check(bytes, lane) {
        cases++
        const counting = targets[lane] as CountingTarget
        const sent = fillMarks(bytes, counting.port, ++id)
        const { requests, problem, isInBody } = parseStrictly(sent)
        counting.expect(id, requests)
        const received = await exchange(proxy.port, sent)
        counting.verify()
        if (requests.some(({ switchesProtocol }) => switchesProtocol)) return
        const statuses = statusesIn(received)
        if (statuses.length > requests.length + 1)
          throw new Error(`more responses than requests: ${statuses.join()}`)
        const last = statuses[requests.length]
        if (last !== undefined && problem !== undefined && !isInBody && !REJECTIONS.includes(last))
          throw new Error(`bytes that are not a request (${problem}) were answered with ${last}`)
      },
      async close() {
        // The clients have closed all their connections.
        while (proxy.status().connections > 0) await turn()
        if (proxy.status().openTunnels > 0) throw new Error('a tunnel of a closed connection is open')
        await proxy.close({ timeout: 1 })
        const arrivals = targets.reduce((sum, { arrivals }) => sum + arrivals, 0)
        await Promise.all(targets.map((counting) => counting.close()))
        if (cases > 500 && arrivals < cases / 20) throw new Error('too few requests arrived to test anything')
      },
    }
  },
}
