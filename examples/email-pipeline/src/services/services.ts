// The parts of Gmail, Gemini, Notion and Infisical that the pipeline uses.
import { type Fault, Faults } from './faults.js'
import { type Answer, type Asked, type Service, serve } from './service.js'

/** The response for a fault; undefined without one. */
function faulty(fault: Fault | undefined): Answer | undefined {
  switch (fault) {
    case 'timeout':
      return 'silence'
    case 'limited':
      return { status: 429, json: { code: 'rate_limited', message: 'rate limit exceeded' }, retryAfter: 1 }
    case 'unauthorized':
      return { status: 401, json: { code: 'unauthorized', message: 'the token has expired' } }
    case 'rejected':
      return {
        status: 400,
        json: { object: 'error', status: 400, code: 'validation_error', message: 'Title is not valid' },
      }
    case 'down':
    case 'hiccup':
      return {
        status: 503,
        json: { object: 'error', status: 503, code: 'service_unavailable', message: 'service unavailable' },
      }
    case 'malformed':
    case undefined:
      return undefined
  }
}

const subjectOf = (mail: string) => `Meeting about ${mail}`

function gmail(faults: Faults) {
  return ({ path }: Asked): Answer => {
    const mail = path.split('/messages/')[1]?.split('?')[0] ?? ''
    const wrong = faulty(faults.meet('gmail', mail))
    const snippet = `Hello, can we meet about ${mail}? Yours, Ada of Acme`
    const headers = [{ name: 'Subject', value: subjectOf(mail) }]
    return wrong ?? { json: { id: mail, snippet, payload: { headers } } }
  }
}

function gemini(faults: Faults) {
  return ({ body }: Asked): Answer => {
    const asked = JSON.stringify(body)
    const mail = /mail-\d+/.exec(asked)?.[0] ?? ''
    const fault = faults.meet('gemini', mail)
    const read =
      fault === 'malformed' ? '{"company": "Ac' : JSON.stringify({ company: 'Acme', person: 'Ada' })
    return faulty(fault) ?? { json: { candidates: [{ content: { parts: [{ text: read }] } }] } }
  }
}

/** A page in Notion. */
export interface Page {
  readonly id: string
  readonly mail: string
  readonly key: string
}

interface Properties {
  Key: { rich_text: { text: { content: string } }[] }
  Mail: { rich_text: { text: { content: string } }[] }
}

function notion(faults: Faults, pages: Page[], written: () => void) {
  return ({ path, body }: Asked): Answer => {
    if (path.endsWith('/query')) {
      const { filter } = body as { filter: { rich_text: { equals: string } } }
      const results = pages
        .filter(({ key }) => key === filter.rich_text.equals)
        .map(({ id }) => ({ object: 'page', id }))
      return { json: { object: 'list', results, has_more: false, next_cursor: null } }
    }
    const { properties } = body as { properties: Properties }
    const mail = properties.Mail.rich_text[0]?.text.content ?? ''
    const fault = faults.meet('notion', mail)
    const id = `page-${pages.length + 1}`
    // With a timeout the page is written, but the client gets no response.
    if (fault === undefined || fault === 'timeout') {
      pages.push({ id, mail, key: properties.Key.rich_text[0]?.text.content ?? '' })
      written()
    }
    return faulty(fault) ?? { json: { object: 'page', id } }
  }
}

export interface Services {
  readonly urls: {
    readonly gmail: string
    readonly gemini: string
    readonly notion: string
    readonly infisical: string
  }
  readonly pages: readonly Page[]
  /** Calls `listener` after each new page in Notion. Returns a function that unsubscribes it. */
  onPage(listener: () => void): () => void
  repair(): void
  close(): Promise<void>
}

/** Starts the four services with their faults. */
export async function startServices(): Promise<Services> {
  const faults = new Faults()
  const pages: Page[] = []
  const listeners = new Set<() => void>()
  const written = () => {
    for (const listener of listeners) listener()
  }
  const all: Record<string, Service> = {
    gmail: await serve(gmail(faults)),
    gemini: await serve(gemini(faults)),
    notion: await serve(notion(faults, pages, written)),
    infisical: await serve(() => ({ status: 503, json: { message: 'the vault is sealed' } })),
  }
  const url = (name: string) => (all[name] as Service).url
  return {
    urls: { gmail: url('gmail'), gemini: url('gemini'), notion: url('notion'), infisical: url('infisical') },
    pages,
    onPage(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    repair: () => faults.repair(),
    close: async () => {
      for (const service of Object.values(all)) await service.close()
    },
  }
}
