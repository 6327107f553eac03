import type { CommandContext } from '../context/context.js'
import { CommandFailure, createUsageError, EXIT_CODES } from '../context/exit.js'
import { type ApiBackend, toRequestInit, urlFor } from './api.js'

function parseBaseUrl(input: string): string {
  let url: URL
  try {
    url = new URL(input)
  } catch {
    throw createUsageError(
      '--url: expected an address such as http://127.0.0.1:8000, got a string that is not a URL',
    )
  }
  if (!['http:', 'https:'].includes(url.protocol))
    throw createUsageError(`--url: expected http:// or https://, got ${url.protocol}//`)
  if (url.username !== '' || url.password !== '')
    throw createUsageError(
      '--url: expected no credentials, got some',
      'give a token with --token or HOLDFAST_TOKEN',
    )
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}`
}

/** The error code or message of the innermost cause. */
function connectionError(error: unknown): string {
  const { cause, code, message } = Object(error) as { cause?: unknown; code?: string; message?: string }
  return code ?? (cause === undefined ? (message ?? 'unknown reason') : connectionError(cause))
}

/** Matches the error codes of certificates that are not trusted. */
const UNTRUSTED_CERTIFICATE = /SELF_SIGNED|CERT_|UNABLE_TO_(VERIFY|GET_ISSUER)|CERTIFICATE/

/** The failure of a command whose server cannot be reached. */
function createUnreachableError(base: string, error: unknown): CommandFailure {
  const reason = connectionError(error)
  const code = 'UNREACHABLE'
  if (UNTRUSTED_CERTIFICATE.test(reason))
    return new CommandFailure(
      EXIT_CODES.unreachable,
      `the certificate of ${base} is not trusted (${reason})`,
      {
        code,
        hint: 'set NODE_EXTRA_CA_CERTS to a PEM file with the certificate to trust',
      },
    )
  return new CommandFailure(EXIT_CODES.unreachable, `cannot connect to ${base} (${reason})`, {
    code,
    hint: 'holdfast serve starts a server; without --url most commands work on the store',
  })
}

/** Creates the API of a running server. */
export function createRemoteApi(context: CommandContext, url: string): ApiBackend {
  const base = parseBaseUrl(url)
  const token = context.globalOptions.token ?? (context.io.env.HOLDFAST_TOKEN || undefined)
  return {
    isRemote: true,
    async send(method, path, options = {}) {
      const request = toRequestInit(method, options)
      const headers = {
        ...(request.headers as Record<string, string>),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      }
      try {
        return await fetch(`${base}${urlFor(path, options.query)}`, { ...request, headers })
      } catch (error) {
        if (options.signal?.aborted) throw error
        throw createUnreachableError(base, error)
      }
    },
    async close() {},
  }
}
