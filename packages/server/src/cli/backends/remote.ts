import type { CommandContext } from '../context/context.js'
import { CommandFailure, createUsageError, EXIT_CODES } from '../context/exit.js'
import { type ApiBackend, toRequestInit, urlFor } from './api.js'

function parseBaseUrl(input: string): string {
  let url: URL
  try {
    url = new URL(input)
  } catch {
    throw createUsageError('--url: takes an address such as http://127.0.0.1:8000')
  }
  if (!['http:', 'https:'].includes(url.protocol)) throw createUsageError('--url: takes http:// or https://')
  if (url.username !== '' || url.password !== '')
    throw createUsageError('--url: takes no credentials', 'give a token with --token or in HOLDFAST_TOKEN')
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}`
}

/** Why a server could not be reached, in a word. */
function connectionError(error: unknown): string {
  const { cause, code, message } = Object(error) as { cause?: unknown; code?: string; message?: string }
  return code ?? (cause === undefined ? (message ?? 'unknown reason') : connectionError(cause))
}

/** What is said of a certificate that is not trusted. */
const UNTRUSTED_CERTIFICATE = /SELF_SIGNED|CERT_|UNABLE_TO_(VERIFY|GET_ISSUER)|CERTIFICATE/

/** Why a server could not be asked. */
function createUnreachableError(base: string, error: unknown): CommandFailure {
  const reason = connectionError(error)
  const code = 'UNREACHABLE'
  if (UNTRUSTED_CERTIFICATE.test(reason))
    return new CommandFailure(
      EXIT_CODES.unreachable,
      `the certificate of ${base} is not trusted (${reason})`,
      {
        code,
        hint: 'NODE_EXTRA_CA_CERTS=FILE in the environment names a PEM file with certificates to trust besides',
      },
    )
  return new CommandFailure(EXIT_CODES.unreachable, `no server answers at ${base} (${reason})`, {
    code,
    hint: 'holdfast serve starts one; without --url the command works on the store, where it can',
  })
}

/** A server that runs. */
export function createRemoteApi(context: CommandContext, url: string): ApiBackend {
  const base = parseBaseUrl(url)
  const token = context.globalOptions.token ?? (context.io.env.HOLDFAST_TOKEN || undefined)
  return {
    isRemote: true,
    async send(method, path, asking = {}) {
      const request = toRequestInit(method, asking)
      const headers = {
        ...(request.headers as Record<string, string>),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      }
      try {
        return await fetch(`${base}${urlFor(path, asking.query)}`, { ...request, headers })
      } catch (error) {
        if (asking.signal?.aborted) throw error
        throw createUnreachableError(base, error)
      }
    },
    async close() {},
  }
}
