// Folders must not import each other in a circle, not even types: a reader should be able to start at the lowest one.
export default {
  forbidden: [
    {
      name: 'no-folder-cycles',
      comment: 'Move the shared type or function to the folder that owns the concept.',
      severity: 'error',
      scope: 'folder',
      from: {},
      to: { circular: true },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    includeOnly: '^packages/[^/]+/src/',
    // Entries export what folders offer; they do not belong to a layer.
    exclude: '^packages/[^/]+/src/(index\\.ts|main\\.tsx)$',
    doNotFollow: { path: 'node_modules' },
  },
}
