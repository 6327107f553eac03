import type { Context } from '../context.js'
import { CommandFailure, EXIT, misused } from '../exit.js'
import { type Api, addressOf, requestOf } from './api.js'

function baseOf(given: string): string {
  let url: URL
  try {
    url = new URL(given)
  } catch {
    throw misused('--url: takes an address such as http://127.0.0.1:8000')
  }
  if (!['http:', 'https:'].includes(url.protocol)) throw misused('--url: takes http:// or https://')
  if (url.username !== '' || url.password !== '')
    throw misused('--url: takes no credentials', 'give a token with --token or in HOLDFAST_TOKEN')
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}`
}

/** Why a server could not be reached, in a word. */
function reasonOf(error: unknown): string {
  const { cause, code, message } = Object(error) as { cause?: unknown; code?: string; message?: string }
  return code ?? (cause === undefined ? (message ?? 'unknown reason') : reasonOf(cause))
}

/** What is said of a certificate that is not trusted. */
const UNTRUSTED = /SELF_SIGNED|CERT_|UNABLE_TO_(VERIFY|GET_ISSUER)|CERTIFICATE/

/** Why a server could not be asked. */
function unreachable(base: string, error: unknown): CommandFailure {
  const reason = reasonOf(error)
  const code = 'UNREACHABLE'
  if (UNTRUSTED.test(reason))
    return new CommandFailure(EXIT.unreachable, `the certificate of ${base} is not trusted (${reason})`, {
      code,
      hint: 'NODE_EXTRA_CA_CERTS=FILE in the environment names a PEM file with certificates to trust besides',
    })
  return new CommandFailure(EXIT.unreachable, `no server answers at ${base} (${reason})`, {
    code,
    hint: 'holdfast serve starts one; without --url the command works on the store, where it can',
  })
}

/** A server that runs. */
export function remote(context: Context, url: string): Api {
  const base = baseOf(url)
  const token = context.shared.token ?? (context.io.env.HOLDFAST_TOKEN || undefined)
  return {
    remote: true,
    async send(method, path, asking = {}) {
      const request = requestOf(method, asking)
      const headers = {
        ...(request.headers as Record<string, string>),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      }
      try {
        return await fetch(`${base}${addressOf(path, asking.query)}`, { ...request, headers })
      } catch (error) {
        if (asking.signal?.aborted) throw error
        throw unreachable(base, error)
      }
    },
    async close() {},
  }
}
