"""What a site offers: tools, prompts, resources and resource templates, read once at registration."""
