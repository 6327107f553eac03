import type { RestNews } from './rests.js'

/** Where the fleet says that a breaker stands: what scripts answer, and what nodes hear. */
export interface View {
  readonly id: string
  /** Who brought it there. */
  readonly node: string
  readonly epoch: number
  readonly state: 'closed' | 'open' | 'half_open'
  /** What is left of its open time, in milliseconds of the server. */
  readonly left: number
  /** How long ago it opened, while it is not closed. */
  readonly age?: number
  readonly openFor: number
  readonly openings: number
  readonly failures: number
  readonly off: boolean
  /** A test must wait so long. */
  readonly wait?: number
  /** The leave for a test, and how long until it holds. */
  readonly token?: string
  readonly early?: number
  /** The lease is not there any more. */
  readonly gone?: boolean
  /** The settings that were stored, and whose they are. */
  readonly settings?: string
  readonly by?: string
}

/** What the settings of a node for a breaker are. */
export interface SettingsNews {
  readonly settings: string
  readonly of: string
  readonly node: string
  /** It was said to one with other settings, and is not answered. */
  readonly answer?: boolean
}

/** All that nodes tell each other. */
export type News =
  | View
  | { readonly ask: string; readonly round: string; readonly node: string }
  | SettingsNews
  | { readonly joined: true; readonly node: string }
  | { readonly left: true; readonly node: string }
  | RestNews
  | { readonly layer: true; readonly node: string }

/** What was heard; undefined for what no release of this one can have said. */
export function readNews(text: string): News | undefined {
  try {
    const news: unknown = JSON.parse(text)
    return typeof (news as News | null)?.node === 'string' ? (news as News) : undefined
  } catch {
    return undefined
  }
}
