import type { PolicyDraft } from './draft.js'

/** The result of a merge. */
export interface MergedDraft {
  readonly draft: PolicyDraft
  /** The fields that both sides changed to different values. They keep the values of this form. */
  readonly conflicts: readonly string[]
}

/** Merges the changes of this form with those that another user saved. Both started from `base`. */
export function mergeDrafts(base: PolicyDraft, mine: PolicyDraft, theirs: PolicyDraft): MergedDraft {
  const names = [...new Set([...Object.keys(base), ...Object.keys(mine), ...Object.keys(theirs)])]
  const isMine = (name: string): boolean => mine[name] !== base[name]
  return {
    draft: Object.fromEntries(
      names.map((name) => [name, (isMine(name) ? mine[name] : theirs[name]) as string | boolean]),
    ),
    conflicts: names.filter(
      (name) => isMine(name) && theirs[name] !== base[name] && theirs[name] !== mine[name],
    ),
  }
}
