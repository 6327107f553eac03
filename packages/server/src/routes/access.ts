import { z } from '@hono/zod-openapi'
import { bearerToken } from '../auth/authenticate.js'
import { readSignInCookie, signInCookie, signOutCookie } from '../auth/cookie.js'
import { createSignIn, csrfTokenOf, deleteSignIn, KEPT_SIGN_IN_MS } from '../auth/sign-ins.js'
import { knownTokens } from '../auth/tokens.js'
import { type Caller, ROLES } from '../roles.js'
import type { Routes } from './routes.js'

const accessSchema = z
  .object({
    name: z.string().describe('The name of the token; `local` if no token is required.'),
    role: z.enum(ROLES).describe('The role of the caller.'),
    token: z.boolean().describe('Whether the caller was authenticated by a token.'),
    csrf_token: z
      .string()
      .optional()
      .describe(
        'For a browser that is signed in: the header `x-csrf-token` of requests that change something.',
      ),
  })
  .meta({ id: 'Access' })

/** The caller, as on the wire. */
export type WireAccess = z.input<typeof accessSchema>

const toWire = (caller: Caller, secret: string | undefined): WireAccess => ({
  ...caller,
  ...(secret === undefined || !caller.token ? {} : { csrf_token: csrfTokenOf(secret) }),
})

/** The routes of the caller and its role, by which the dashboard decides what to show, and of its sign-in. */
export function addAccessRoutes({ addRoute, hf, settings }: Routes): void {
  const { values } = hf.store

  addRoute(
    {
      method: 'get',
      path: '/access',
      id: 'getAccess',
      tag: 'access',
      role: 'viewer',
      summary: 'The caller and its role',
      responses: { 200: { description: 'The name and the role of the caller', schema: accessSchema } },
    },
    ({ caller, honoContext }) => {
      const secret =
        honoContext.req.header('authorization') === undefined ? readSignInCookie(honoContext) : undefined
      return { body: toWire(caller, secret) }
    },
  )

  addRoute(
    {
      method: 'post',
      path: '/access/session',
      id: 'signIn',
      tag: 'access',
      role: 'viewer',
      summary: 'Sign in a browser',
      description:
        'Exchanges the token in the header Authorization for a cookie that scripts cannot read (HttpOnly, SameSite=Strict, ' +
        'Secure with TLS). Requests with the cookie that change something need the header `x-csrf-token`. Without a token in ' +
        'the request nothing is stored. Requires the role viewer.',
      optionalBody: z
        .strictObject({
          keep: z
            .boolean()
            .optional()
            .describe(
              'Whether the browser stays signed in for 30 days; else until it is closed, at most a day.',
            ),
        })
        .meta({ id: 'SignIn' }),
      responses: { 201: { description: 'The name and the role of the caller', schema: accessSchema } },
    },
    async ({ body, caller, honoContext }) => {
      const token = caller.token ? bearerToken(honoContext.req.header('authorization')) : undefined
      const isKept = body?.keep === true
      const secret =
        token &&
        (await createSignIn(values, await knownTokens(values), { token, isKept, now: settings.clock.wall() }))
      if (!secret) return { status: 201, body: toWire(caller, readSignInCookie(honoContext)) }
      const headers = signInCookie(honoContext, secret, isKept ? KEPT_SIGN_IN_MS : undefined)
      return { status: 201, body: toWire(caller, secret), headers }
    },
  )

  addRoute(
    {
      method: 'delete',
      path: '/access/session',
      id: 'signOut',
      tag: 'access',
      role: 'viewer',
      summary: 'Sign out a browser',
      responses: { 204: { description: 'The sign-in has ended and the cookie is deleted' } },
    },
    async ({ honoContext }) => {
      const secret = readSignInCookie(honoContext)
      if (secret !== undefined) await deleteSignIn(values, secret)
      return { status: 204, headers: signOutCookie(honoContext) }
    },
  )
}
