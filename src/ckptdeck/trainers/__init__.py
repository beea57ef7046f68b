"""What plugs into a training library, one module for each. Each imports its library; nothing else imports these."""
