// Three steps, each with its own operation and the breaker of its service. Copy this file.
import { gmail as gmailClient } from '@googleapis/gmail'
import type { Holdfast } from '@holdfast/runtime'
import { Client as NotionClient } from '@notionhq/client'

type NotionFetch = NonNullable<NonNullable<ConstructorParameters<typeof NotionClient>[0]>['fetch']>

export interface Settings {
  readonly urls: { gmail: string; gemini: string; notion: string; infisical: string }
  /** The secrets that are used while the vault is down. */
  readonly env: Record<string, string>
}

interface Mail {
  id: string
  subject: string
  text: string
}

interface Extract extends Mail {
  company: string
  person: string
}

/** Reads a secret from the vault, or from the `.env` file if the vault is not available. */
async function secret(hf: Holdfast, { urls, env }: Settings, name: string): Promise<string> {
  const fromVault = async ({ signal }: { signal: AbortSignal }) => {
    const response = await fetch(`${urls.infisical}/api/v3/secrets/raw/${name}`, { signal })
    if (!response.ok)
      throw Object.assign(new Error(`the vault answered ${response.status}`), { status: response.status })
    return ((await response.json()) as { secret: { secretValue: string } }).secret.secretValue
  }
  return hf
    .run('infisical_fetch', fromVault, { service: 'infisical', itemId: name })
    .catch((error: unknown) => {
      const known = env[name]
      if (known === undefined) throw error
      return known
    })
}

/** Creates the pipeline. A process that has created it can replay its dead letters. */
export async function mailPipeline(hf: Holdfast, settings: Settings) {
  const { urls } = settings
  const notionToken = await secret(hf, settings, 'NOTION_TOKEN')
  const gmailKey = await secret(hf, settings, 'GMAIL_KEY')
  // The retries of both clients are disabled: the policies retry, and the attempts are counted once.
  const gmail = gmailClient({ version: 'v1', rootUrl: `${urls.gmail}/`, auth: gmailKey, retry: false })
  // The client of Notion takes no signal. A client for each attempt passes the signal to `fetch`, so that an attempt that
  // timed out does not write its page after the next attempt has looked for it.
  const notionClient = (signal: AbortSignal) =>
    new NotionClient({
      auth: notionToken,
      baseUrl: urls.notion,
      retry: false,
      logger: () => {},
      fetch: ((url: string, init?: RequestInit) => fetch(url, { ...init, signal })) as NotionFetch,
    })

  return hf.pipeline([
    {
      operation: 'gmail_fetch',
      service: 'gmail',
      async run(id: string, { signal }): Promise<Mail> {
        const { data } = await gmail.users.messages.get({ userId: 'me', id }, { signal, retry: false })
        const subject = data.payload?.headers?.find(({ name }) => name === 'Subject')?.value
        return { id, subject: subject ?? '', text: data.snippet ?? '' }
      },
    },
    {
      operation: 'gemini_extract',
      service: 'gemini',
      async run(mail: Mail, { signal }): Promise<Extract> {
        const response = await fetch(`${urls.gemini}/v1beta/models/gemini-flash:generateContent`, {
          method: 'POST',
          signal,
          body: JSON.stringify({
            contents: [{ parts: [{ text: `Who wrote this? ${mail.subject} ${mail.text}` }] }],
          }),
        })
        if (!response.ok)
          throw Object.assign(new Error(`Gemini answered ${response.status}`), {
            status: response.status,
            headers: response.headers,
          })
        const { candidates } = (await response.json()) as {
          candidates: { content: { parts: { text: string }[] } }[]
        }
        const said = JSON.parse(candidates[0]?.content.parts[0]?.text ?? '') as {
          company: string
          person: string
        }
        return { ...mail, ...said }
      },
    },
    {
      operation: 'notion_write',
      service: 'notion',
      async run({ id, subject, company }: Extract, { idempotencyKey, signal }): Promise<string> {
        const notion = notionClient(signal)
        // Notion has no idempotency keys. The key is stored as a property, and the step looks for it before it writes.
        const found = await notion.dataSources.query({
          data_source_id: 'mails',
          filter: { property: 'Key', rich_text: { equals: idempotencyKey } },
        })
        if (found.results[0] !== undefined) return found.results[0].id
        const text = (content: string) => ({ rich_text: [{ text: { content } }] })
        const page = await notion.pages.create({
          parent: { data_source_id: 'mails' },
          properties: {
            Title: { title: [{ text: { content: `${subject} (${company})` } }] },
            Mail: text(id),
            Key: text(idempotencyKey),
          },
        })
        return page.id
      },
    },
  ])
}

/** The idempotency key of a mail. A mail that arrives twice is written once. */
export const keyOf = (mail: string): string => `mail:${mail}`
